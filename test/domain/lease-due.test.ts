/** `lease_due_at` (prisma/migrations/20261122220000_lease_due): renewals write to no index, and every ended lease is found. */
import type pg from 'pg'
import { expect, test } from 'vitest'
import { heartbeat } from '../../src/domain/claims/heartbeat.ts'
import type { Claim } from '../../src/domain/protocol/protocol.ts'
import { asAdmin } from '../support/database.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const claimAll = () => domain.plane.claim({ holder: 'holder', max: 100, leaseSeconds: 60 })
const admin = <T>(work: (client: pg.Client) => Promise<T>) => asAdmin(domain.url, work)

/** Renews in a transaction of `client`. Returns how many rows were updated without a write to an index (HOT updates). */
async function renew(client: pg.Client, claimed: readonly Claim[], leaseSeconds = 60): Promise<number> {
  const core = {
    ...domain.core,
    renew: async <Row>({ text, values }: { text: string; values: unknown[] }) =>
      (await client.query(text, values)).rows as Row[],
  }
  const claims = claimed.map(({ claimId, token, generation }) => ({ claimId, token, generation }))
  await client.query('BEGIN')
  const before = await hotUpdates(client)
  const answers = await heartbeat(core, { listenerId: null }, { leaseSeconds, claims })
  const after = await hotUpdates(client)
  await client.query('COMMIT')
  expect(answers.map(({ lost }) => lost)).toEqual(claimed.map(() => false))
  return after - before
}

/** Exact within a transaction; it may include earlier transactions. */
async function hotUpdates(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ hot: string }>(
    `SELECT pg_stat_get_xact_tuples_hot_updated('deployments'::regclass) AS hot`,
  )
  return Number(rows[0]!.hot)
}

const due = async (client: pg.Client) =>
  (
    await client.query(`
      SELECT bool_and((lease_due_at IS NULL) = (lease_expires_at IS NULL)) AS both,
             coalesce(bool_and(lease_due_at <= lease_expires_at), true) AS early,
             coalesce(bool_and(lease_due_at > now() + (lease_expires_at - now()) / 5), true) AS late
      FROM deployments`)
  ).rows[0]

test('a renewal writes to no index until the stored due time is close', async () => {
  for (let n = 0; n < 5; n++) await gitDeployment(ctx)
  const claimed = await claimAll()
  expect(claimed).toHaveLength(5)
  await admin(async (client) => {
    await client.query('VACUUM deployments')
    expect(await renew(client, claimed)).toBe(5)
    expect(await renew(client, claimed)).toBe(5)
    expect(await due(client)).toEqual({ both: true, early: true, late: true })
    // the state after some renewals
    await client.query(`UPDATE deployments SET lease_due_at = now() + interval '10 seconds'`)
    expect(await renew(client, claimed)).toBe(0)
    expect(await due(client)).toEqual({ both: true, early: true, late: true })
    await client.query('VACUUM deployments')
    expect(await renew(client, claimed)).toBe(5)
  })
  for (const claim of claimed) await domain.plane.release(claim)
  await admin(async (client) => expect(await due(client)).toMatchObject({ both: true }))
})

test('a valid lease is never handed out, and an ended one is found, whatever due time is stored', async () => {
  const id = await gitDeployment(ctx)
  const claimed = (await claimAll()).find(({ deployment }) => deployment.id === id)!
  await admin(async (client) => {
    const set = (columns: string) => client.query(`UPDATE deployments SET ${columns} WHERE id = '${id}'`)
    await set(`lease_due_at = now() - interval '1 hour'`)
    expect(await claimAll()).toEqual([])
    // the row of an older server
    await set(`lease_expires_at = now() - interval '1 second'`)
    const [second] = await claimAll()
    expect(second).toMatchObject({ deployment: { id } })
    expect(BigInt(second!.token)).toBeGreaterThan(BigInt(claimed.token))
    // the row before the column was filled
    await client.query('ALTER TABLE deployments DISABLE TRIGGER deployments_lease_due_changed')
    await set('lease_due_at = NULL')
    expect(await claimAll()).toEqual([])
    await set(`lease_expires_at = now() - interval '1 second'`)
    await client.query('ALTER TABLE deployments ENABLE TRIGGER deployments_lease_due_changed')
    expect(await claimAll()).toMatchObject([{ deployment: { id } }])
    expect(await due(client)).toEqual({ both: true, early: true, late: true })
  })
})

test('the stored due time is never later than the end of the lease', async () => {
  await gitDeployment(ctx)
  await admin(async (client) => {
    await claimAll()
    const seconds = [60, 600, 20, 86_400, 1, 30, 30, 3_600]
    for (const length of seconds) {
      await client.query(
        `UPDATE deployments SET lease_expires_at = now() + interval '${length} seconds' WHERE claim_id IS NOT NULL`,
      )
      expect(await due(client)).toMatchObject({ both: true, early: true, late: true })
    }
    await client.query(`UPDATE deployments SET lease_due_at = now() + interval '1 year'`)
    expect(await due(client)).toMatchObject({ both: true, early: true })
  })
})

/** Concurrent operations on a listener, and the callers that may do its work. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimForListener } from '../../src/domain/claims/control-plane.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { createKey } from '../../src/domain/keys/manage.ts'
import { createListener, deleteListener, updateListener } from '../../src/domain/listeners/manage.ts'
import { lockListener, shareListener } from '../../src/domain/repositories/locks.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import type { Listener } from '../../src/generated/prisma/client.ts'
import { as, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const made = (k8s_namespaces = ['agents']): Promise<Listener> =>
  createListener(ctx, {
    body: { compute_type: 'k8s', compute_id: randomUUID(), compute_config: { k8s_namespaces } },
  })
const path = ({ id }: Listener) => ({ path: { listener_id: id } })
const deploy = async ({ id }: Listener, k8s_namespace = 'agents') => {
  const { deploymentId } = await createDeployment(ctx, {
    body: {
      name: `on-${randomUUID()}`,
      source: 'external_container',
      source_config: { listener_id: id, listener_config: { k8s_namespace } },
      source_revision_config: { image_uri: 'registry.example.com/agent:1' },
      secrets: [],
    },
  })
  return deploymentId
}
const outcomeOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error) => error.code ?? String(error),
  )
/** Runs both concurrently several times and returns every pair of outcomes. */
async function race(first: (one: Listener) => Promise<unknown>, second: (one: Listener) => Promise<unknown>) {
  const seen = new Set<string>()
  for (let round = 0; round < 6; round++) {
    const listeners = await Promise.all(Array.from({ length: 4 }, () => made(['agents', 'other'])))
    for (const pair of await Promise.all(
      listeners.map((one) => Promise.all([outcomeOf(first(one)), outcomeOf(second(one))])),
    ))
      seen.add(pair.join(' + '))
  }
  return [...seen]
}
/** Resolves when a statement waits for a row lock. */
const somebodyWaits = () =>
  expect
    .poll(async () => {
      const [row] = await domain.core.db.$queryRaw<{ waiting: boolean }[]>`
        SELECT count(*) > 0 AS waiting FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`
      return row!.waiting
    })
    .toBe(true)

describe('a listener’s deletion', () => {
  test('and a concurrent new deployment exclude each other', async () => {
    const seen = await race(deploy, (one) => deleteListener(ctx, path(one)))
    for (const outcome of seen) expect(['done + CONFLICT', 'NOT_FOUND + done']).toContain(outcome)
  })

  test('waits for a concurrent new deployment and is then refused', async () => {
    const one = await made()
    let deletion: Promise<string> | undefined
    await transaction(ctx, async (tx) => {
      await shareListener(tx, ctx.workspace.id, one.id)
      deletion = outcomeOf(deleteListener(ctx, path(one)))
      await somebodyWaits()
      await tx.sql.deployment.create({
        data: { workspaceId: ctx.workspace.id, name: randomUUID(), source: 'external_container', listenerId: one.id },
      })
    })
    expect(await deletion).toBe('CONFLICT')
  })

  test('makes a concurrent new deployment wait and find no listener', async () => {
    const one = await made()
    let creation: Promise<string> | undefined
    await transaction(ctx, async (tx) => {
      await lockListener(tx, ctx, one.id)
      creation = outcomeOf(deploy(one))
      await somebodyWaits()
      await tx.sql.listener.delete({ where: { id: one.id } })
    })
    expect(await creation).toBe('NOT_FOUND')
  })

  test('revokes all its keys, including concurrently created ones', async () => {
    const body = (one: Listener) => ({ body: { name: 'k', role: 'listener', listener_id: one.id } })
    const seen = await race(
      (one) => createKey(ctx, body(one)),
      (one) => deleteListener(ctx, path(one)),
    )
    for (const outcome of seen) expect(['done + done', 'NOT_FOUND + done']).toContain(outcome)
    expect(await ctx.db.apiKey.count({ where: { role: 'listener', listenerId: null, revokedAt: null } })).toBe(0)
  })

  test('reports the revoked keys to this server', async () => {
    const one = await made()
    const { row } = await createKey(ctx, { body: { name: 'k', role: 'listener', listener_id: one.id } })
    const told: string[] = []
    await deleteListener({ ...ctx, onKeyRevoked: (id) => told.push(id) }, path(one))
    expect(told).toEqual([row.id])
    expect(await ctx.db.apiKey.findUniqueOrThrow({ where: { id: row.id } })).toMatchObject({
      listenerId: null,
      revokedAt: expect.any(Date),
    })
  })

  test('keeps the rows of torn-down deployments for their retention time', async () => {
    const one = await made()
    const id = await deploy(one)
    await ctx.db.deployment.update({ where: { id }, data: { deletedAt: new Date(), tornDownAt: new Date() } })
    await deleteListener(ctx, path(one))
    expect(await ctx.db.deployment.findUniqueOrThrow({ where: { id } })).toMatchObject({ listenerId: null })
  })
})

test('a namespace can’t be removed while a deployment is created in it', async () => {
  const seen = await race(
    (one) => deploy(one),
    (one) => updateListener(ctx, { ...path(one), body: { compute_config: { k8s_namespaces: ['other'] } } }),
  )
  for (const outcome of seen) expect(['done + CONFLICT', 'VALIDATION_FAILED + done']).toContain(outcome)
})

test('a recorded call of a listener does not wait for new deployments on it', async () => {
  const one = await made()
  await transaction(ctx, async (tx) => {
    await shareListener(tx, ctx.workspace.id, one.id)
    await ctx.db.listener.update({ where: { id: one.id }, data: { lastSeenAt: new Date() } })
  })
})

test('concurrent changes are all stored', async () => {
  const one = await made()
  await Promise.all([
    updateListener(ctx, { ...path(one), body: { version: '2' } }),
    updateListener(ctx, { ...path(one), body: { compute_config: { k8s_namespaces: ['agents', 'more'] } } }),
  ])
  expect(await ctx.db.listener.findUniqueOrThrow({ where: { id: one.id } })).toMatchObject({
    version: '2',
    k8sNamespaces: ['agents', 'more'],
  })
})

describe('a listener’s work', () => {
  const key = (listenerId: string): RequestContext => {
    const caller = as(ctx, 'listener')
    return { ...caller, actor: { ...caller.actor, listenerId } }
  }

  test('is available again when its response was lost', async () => {
    const one = await made()
    const { row } = await createKey(ctx, { body: { name: 'k', role: 'listener', listener_id: one.id } })
    const caller = key(one.id)
    const deployment = await deploy(one)
    const gone = new AbortController()
    const actor = { ...caller.actor, subject: row.id }
    const call: RequestContext = { ...caller, actor, client: { gone: gone.signal } }
    const asked = { path: { listener_id: one.id }, body: { lease_seconds: 600 } }
    expect(await claimForListener(call, asked)).toMatchObject([{ deployment: { id: deployment }, step: { tries: 1 } }])
    gone.abort()
    const leased = async () => (await ctx.db.deployment.findUniqueOrThrow({ where: { id: deployment } })).claimId
    await expect.poll(leased).toBeNull()
    expect(await ctx.db.step.findFirst({ where: { deploymentId: deployment } })).toMatchObject({ tries: 0 })
  })
})

/** Three servers on one database: two with a response cache and one without. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { type Answer, type Call, type TestApp, testApp, useApp } from '../support/app.ts'
import { asAdmin, countStatements } from '../support/database.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'
import { useStarted } from '../support/started.ts'

/** Background jobs must change nothing between two reads. */
const QUIET = { SWEEP_SECONDS: '3600' }

/** `fresh` has no cache. */
export function useThreeServers() {
  const app = useApp(() => ({ settings: QUIET }))
  const second = useStarted(() => testApp({ beside: app, settings: QUIET }))
  const fresh = useStarted(() => testApp({ beside: app, settings: { ...QUIET, RESPONSE_CACHE_MB: '0' } }))
  const sql = (text: string) => asAdmin(app.databaseUrl, (client) => client.query(text))

  /** A serving deployment whose listener has just called. */
  async function serving() {
    const { id: listenerId } = await listener(app)
    const { id, latest_revision_id: revisionId } = await imageDeployment(app, {
      source_config: { listener_id: listenerId, listener_config: { k8s_namespace: 'agents' } },
    })
    await sql(`
      UPDATE deployments SET active_revision_id = latest_revision_id, provisioned_at = now(),
        health = '{"ready": 1, "desired": 1, "message": null, "observedAt": "2026-01-01T00:00:00Z"}',
        claim_id = gen_random_uuid(), lease_holder = 'test', lease_expires_at = now() + interval '1 hour' WHERE id = '${id}'`)
    const { id: git } = await gitDeployment(app)
    return { id, revisionId: revisionId as string, listenerId, git }
  }

  /** Reads and writes through both servers in any order. Each answer must equal the one of the server without a cache. */
  async function expectFresh(
    { id, listenerId, git }: Awaited<ReturnType<typeof serving>>,
    reads: Read[],
    more: Write[],
  ) {
    const seen = (ago: string) =>
      sql(`UPDATE listeners SET last_seen_at = clock_timestamp() - interval '${ago}' WHERE id = '${listenerId}'`)
    const writes: Write[] = [
      (on, n) => {
        const body = { source_config: { custom_url: `https://${n}.example.com` } }
        return on.rest('PATCH', `/v2/deployments/${id}`, { body })
      },
      (on, n) => on.rest('PATCH', `/v2/deployments/${git}`, { body: { secrets: [{ name: `A${n}`, value: 'x' }] } }),
      (on) => gitDeployment(on),
      () => seen('0 minutes'),
      () => seen('5 minutes'),
      (_, n) =>
        sql(`UPDATE deployments SET lease_expires_at = now() + make_interval(mins => ${n - 50}) WHERE id = '${id}'`),
      (_, n) => sql(`UPDATE revisions SET status_message = '${n}' WHERE deployment_id = '${id}'`),
      ...more,
    ]
    const read = fc.record({ on: fc.boolean(), read: fc.nat(reads.length - 1), reader: fc.boolean() })
    const write = fc.record({ on: fc.boolean(), write: fc.nat(writes.length - 1), n: fc.integer({ min: 1, max: 99 }) })
    const steps = fc.array(fc.oneof({ weight: 4, arbitrary: read }, { weight: 1, arbitrary: write }), { maxLength: 50 })
    await fc.assert(
      fc.asyncProperty(steps, async (run) => {
        for (const step of run) {
          const server = step.on ? app : second
          if ('write' in step) {
            await writes[step.write]!(server, step.n)
            continue
          }
          const call = { key: step.reader ? app.keys.secretsReader : app.keys.viewer }
          const answers = [server, fresh].map((on) => reads[step.read]!(on, call))
          const [given, made] = (await Promise.all(answers)).map(({ text, headers }) => [text, headers.get('etag')])
          expect([step.read, given]).toEqual([step.read, made])
        }
      }),
      { numRuns: 15 },
    )
  }

  return { app, second, fresh, sql, serving, expectFresh }
}

type Write = (on: TestApp, n: number) => Promise<unknown>
type Read = (on: TestApp, call: Call) => Promise<Answer>

/** Statements of reads, without those of jobs and of key look-ups. */
export const reading = async (on: TestApp, work: () => Promise<unknown>): Promise<string[]> =>
  (await countStatements(on.app.database, work)).filter(
    (text) => /shown_versions|"public"/.test(text) && !text.includes('api_keys'),
  )

/**
 * Claim to complete: four workers of a listener claim deployments with an open step over HTTP, and complete each step
 * immediately. The steps do no work.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { spread } from '../measure/compare.ts'
import { said } from '../measure/report.ts'
import { cpuOf } from '../measure/usage.ts'
import type { Place } from '../place/place.ts'
import type { Case } from './case.ts'

const WORKERS = 4
const CLAIMS = 20
const ROUNDS = 4
/** Claims that one worker holds concurrently. */
const CLAIMS_PER_WORKER = 4

interface Claim {
  claim_id: string
  token: string
  step: { id: string } | null
}

async function round(place: Place, at: number) {
  const { id, key, deploymentIds } = place.seeded.stepListeners[at]!
  const call = async <T>(path: string, body: object): Promise<T> => {
    const response = await fetch(`${place.server.url}/v2/listeners/${id}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as T
  }
  for (const deploymentId of deploymentIds)
    await place.call('PATCH', `/v2/deployments/${deploymentId}`, {
      source_revision_config: { image_uri: 'registry.example.com/acme/agent:next' },
    })
  let steps = 0
  const complete = async ({ claim_id, token, step }: Claim) => {
    for (let next = step; next; ) {
      const answer = await call<{ assignment: { step: { id: string } | null } | null }>(
        `/claims/${claim_id}/complete`,
        {
          token,
          step_id: next.id,
          outcome: 'succeeded',
        },
      )
      steps++
      next = answer.assignment?.step ?? null
    }
  }
  const work = async (worker: number) => {
    for (;;) {
      const { claims } = await call<{ claims: Claim[] }>('/claims', {
        holder: `worker-${worker}`,
        max: CLAIMS,
        lease_seconds: 120,
      })
      if (claims.length === 0) return
      const queue = [...claims]
      const one = async () => {
        for (let claim = queue.pop(); claim; claim = queue.pop()) await complete(claim)
      }
      await Promise.all(Array.from({ length: CLAIMS_PER_WORKER }, one))
    }
  }
  const before = { server: cpuOf(place.server.pid), postgres: cpuOf(place.postgres.pid) }
  const began = performance.now()
  await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
  const seconds = (performance.now() - began) / 1000
  if (steps < deploymentIds.length) throw new Error(`only ${steps} of ${deploymentIds.length} steps were done`)
  const per = (now: number | null, then: number | null) => (now === null ? null : ((now - then!) * 1000) / steps)
  return {
    perSecond: steps / seconds,
    cpu: per(cpuOf(place.server.pid), before.server),
    postgresCpu: per(cpuOf(place.postgres.pid), before.postgres),
    steps,
  }
}

export const stepsCase: Case = {
  id: 'steps',
  what: 'Claim to complete: steps of 4 workers',
  async run(open) {
    const place = await open()
    await round(place, 0)
    const laps: Awaited<ReturnType<typeof round>>[] = []
    for (let at = 1; at < ROUNDS; at++) {
      await delay(200)
      laps.push(await round(place, at))
    }
    let counted = 0
    const statements = await place.postgres.statements(async () => {
      counted = (await round(place, ROUNDS)).steps
    })
    const of = (value: (lap: (typeof laps)[number]) => number | null) => spread(laps.map(value))
    return {
      head: ['', 'steps/s', 'CPU ms per 1,000: server', 'Postgres', 'statements (with the PATCH before)'],
      rows: [
        [
          'pilothouse',
          said(of(({ perSecond }) => perSecond)),
          said(of(({ cpu }) => cpu)),
          said(of(({ postgresCpu }) => postgresCpu)),
          (statements / counted).toFixed(1),
        ],
      ],
    }
  },
}

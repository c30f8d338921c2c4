/** Tests the codecs of the data-plane protocol in both directions, also with messages of other versions. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { DATA_PLANE_EXAMPLES } from '../../src/api/rest/examples/data-plane.ts'
import { fromWire, toWire, type WireObject, wireObject } from '../../src/domain/parsing/codec.ts'
import { assignment, claimAnswer, completeAnswer, heartbeatAnswer } from '../../src/domain/protocol/answers.ts'
import * as builders from '../../src/domain/protocol/builders.ts'
import {
  claimRequest,
  completeRequest,
  heartbeatRequest,
  logsRequest,
  metricsRequest,
  releaseRequest,
} from '../../src/domain/protocol/requests.ts'

const MESSAGES: Record<keyof typeof DATA_PLANE_EXAMPLES, WireObject<z.ZodRawShape>> = {
  ClaimRequest: claimRequest,
  ClaimAnswer: claimAnswer,
  HeartbeatRequest: heartbeatRequest,
  HeartbeatAnswer: heartbeatAnswer,
  LogsRequest: logsRequest,
  CompleteRequest: completeRequest,
  CompleteAnswer: completeAnswer,
  ReleaseRequest: releaseRequest,
  MetricsRequest: metricsRequest,
  BuilderClaimRequest: builders.builderClaimRequest,
  BuilderClaimAnswer: builders.builderClaimAnswer,
  BuilderHeartbeatRequest: builders.builderHeartbeatRequest,
  BuilderHeartbeatAnswer: builders.builderHeartbeatAnswer,
  BuilderAccessRequest: builders.builderAccessRequest,
  BuilderAccessAnswer: builders.builderAccessAnswer,
  BuilderLogsRequest: builders.builderLogsRequest,
  BuilderCompleteRequest: builders.builderCompleteRequest,
  BuilderCompleteAnswer: builders.builderCompleteAnswer,
}

/** The message as sent over the network. `deadline_at` is omitted, because it is computed from the seconds left. */
const sent = (json: unknown) =>
  JSON.parse(JSON.stringify(json), (key, value) => (key === 'deadline_at' ? undefined : value))

test.each(Object.entries(MESSAGES))('the example of %s is the same after both ways', (name, message) => {
  const example = DATA_PLANE_EXAMPLES[name as keyof typeof MESSAGES]
  const value = message.parse(example)
  expect(fromWire(message, message.in.parse(example))).toEqual(value)
  expect(sent(toWire(message, value))).toEqual(sent(example))
  // `toWire` agrees with zod's own encoding; a Date has none
  if (!/(Logs|Metrics)Request$/.test(name)) expect(sent(z.encode(message, value))).toEqual(sent(example))
})

test('a builder gets its build and no other data of the deployment', () => {
  const [claim] = DATA_PLANE_EXAMPLES.BuilderClaimAnswer.claims
  const handed = toWire(builders.builderClaim, builders.builderClaim.parse(claim))
  expect(Object.keys(handed).sort()).toEqual(
    ['claim_id', 'deployment', 'lease_seconds', 'revision', 'seconds_left', 'step_id', 'token', 'tries'].sort(),
  )
  expect(Object.keys(handed.deployment as object).sort()).toEqual(['id', 'name', 'workspace_id'])
})

describe('a message of another version', () => {
  const { claim_id, token } = DATA_PLANE_EXAMPLES.HeartbeatRequest.claims[0]!
  const heartbeat = (item: object) => heartbeatRequest.parse({ claims: [{ claim_id, token, ...item }] }).claims[0]!

  test('may lack seconds_left, from an older control plane', () => {
    const { seconds_left: _, ...older } = DATA_PLANE_EXAMPLES.ClaimAnswer.claims[0]!.step
    const deadline = new Date(Date.now() + 60_000).toISOString()
    const example = { ...DATA_PLANE_EXAMPLES.CompleteAnswer.assignment, step: { ...older, deadline_at: deadline } }
    expect(assignment.parse(example).step!.secondsLeft).toBeCloseTo(60, 0)
  })

  test('loses its unknown members', () => {
    expect(claimRequest.parse({ holder: 'a', strange: 1 })).toEqual({ holder: 'a', max: 20, leaseSeconds: 30 })
  })

  test('may have progress as text, or an unknown reason', () => {
    expect(heartbeat({ progress: 'Pulling' }).progress).toEqual({ reason: 'IN_PROGRESS', message: 'Pulling' })
    expect(heartbeat({ progress: { reason: 'NEWER', message: 'x' } }).progress!.reason).toBe('IN_PROGRESS')
    const health = { ready: 1, desired: 1 }
    expect(heartbeat({ health }).health).toEqual({ ...health, message: null, reason: null })
    expect(heartbeat({ health: { ...health, reason: 'NEWER' } }).health!.reason).toBeNull()
  })

  test('treats null as absent, except for progress, where it means none', () => {
    const item = heartbeat({ progress: null, health: null, idle: null })
    expect(item).toEqual({ claimId: claim_id, token, progress: null })
    expect(Object.keys(item)).not.toContain('idle')
  })
})

test('names are converted where they are declared, and never inside foreign objects', () => {
  const message = wireObject({ ownName: z.array(z.record(z.string(), z.unknown())).nullable(), other: z.date() })
  const value = { ownName: [{ 'their-name': { snake_case: 1, camelCase: 2 } }], other: new Date(0) }
  expect(toWire(message, value)).toEqual({ own_name: value.ownName, other: value.other })
  expect(fromWire(message, { own_name: null, other: value.other })).toEqual({ ownName: null, other: value.other })
})

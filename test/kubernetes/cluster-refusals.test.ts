/** Messages of failed calls, and which calls are retried. */
import { expect, test } from 'vitest'
import { ApiRefused, refusal, Unreachable, unreachable } from '../../src/dataplane/kubernetes/api-server/errors.ts'
import { pause, retrying } from '../../src/dataplane/kubernetes/api-server/retry.ts'
import { createMask, MASK } from '../../src/dataplane/output/mask.ts'
import { ConnectionError } from '../../src/platform/http/client.ts'

const times = { firstRetry: 1, longestRetry: 4 }
const status = (code: number, reason: string, message: string) =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message })

test('a refused manifest is reported with the API server’s reason', () => {
  const words = 'Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
  const error = refusal(422, {}, status(422, 'Invalid', words), 'apply Deployment a in namespace "n"', false)
  expect(error).toMatchObject({ name: 'ApiRefused', status: 422, reason: 'Invalid' })
  expect(error.message).toBe(`The API server refused to apply Deployment a in namespace "n": ${words}`)
})

test('the message about a refused Secret does not show its content', () => {
  const words = 'Secret "s" is invalid: data[a key!]: Invalid value: "hunter2"'
  expect(refusal(422, {}, status(422, 'Invalid', words), 'apply Secret s', true).message).not.toMatch(/hunter2/)
  const quota = status(403, 'Forbidden', 'secrets "s" is forbidden: exceeded quota: few')
  expect(refusal(403, {}, quota, 'apply Secret s', true).message).toMatch(/exceeded quota: few/)
})

test('a manifest that does not fit the schema is refused, although API servers answer 500', () => {
  const words =
    'failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="a"].x: field not declared in schema'
  const answer = JSON.stringify({ kind: 'Status', status: 'Failure', code: 500, message: words })
  const error = refusal(500, {}, answer, 'apply Deployment a', false)
  expect(error).toBeInstanceOf(ApiRefused)
  expect(error.message).toContain('.x: field not declared in schema')
  expect(refusal(500, {}, answer, 'apply Secret s', true).message).not.toContain('declared')
  expect(refusal(500, {}, status(500, '', 'etcdserver: request timed out'), 'read x', false)).toBeInstanceOf(
    Unreachable,
  )
})

test('a busy server is called again after its Retry-After time', () => {
  const busy = refusal(429, { 'retry-after': '2' }, status(429, 'TooManyRequests', 'try again'), 'read x', false)
  expect(busy).toBeInstanceOf(Unreachable)
  expect(pause(times, 0, busy)).toBe(2000)
  const starting = refusal(503, { 'retry-after': '7200' }, '<html>no healthy upstream</html>', 'read x', false)
  expect(starting.message).toBe('The API server could not read x: HTTP 503')
  expect(pause(times, 0, starting)).toBe(60_000)
})

test('a kept connection that the server closed is replaced immediately', () => {
  const broken = new ConnectionError('other side closed', 'ECONNRESET', true)
  expect(pause(times, 0, unreachable(broken, 'read x'))).toBe(0)
})

test('unreachable or busy servers are retried, refusals are not', async () => {
  const outcomes: (Error | string)[] = [new Unreachable('away'), new Unreachable('away'), 'done']
  let calls = 0
  const work = async () => {
    const outcome = outcomes[calls++]
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  expect(await retrying(times, work)).toBe('done')
  expect(calls).toBe(3)
  calls = 0
  outcomes[0] = new ApiRefused(403, 'Forbidden', 'no')
  await expect(retrying(times, work)).rejects.toThrow('no')
  expect(calls).toBe(1)
})

test('a call is not retried after the lease has expired', async () => {
  let calls = 0
  const work = async () => {
    calls++
    throw new Unreachable('away')
  }
  await expect(retrying(times, work, () => calls < 2)).rejects.toThrow('away')
  expect(calls).toBe(2)
})

test('an API server’s message is masked before it is shortened', () => {
  const value = 'sk-live-0123456789abcdefghijklmnopqrstuv'
  const words = `admission webhook denied the request: ${'.'.repeat(940)}${value} is not allowed`
  const { message } = refusal(403, {}, status(403, 'Forbidden', words), 'apply Deployment a', false)
  expect(createMask([value])(message)).toContain(`.${MASK} is not allowed`)
})

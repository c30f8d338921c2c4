/**
 * The data-plane protocol (docs/protocol.md): the built-in worker calls it in process, a listener with its key. A listener's
 * call is authenticated, parsed, and limited to the listener's deployments.
 */
import { z } from 'zod'
import { takeSlot, tryTakeSlot } from '../concurrency/concurrency-limit.ts'
import { ClaimLostError } from '../errors/errors.ts'
import { refuseRevoked } from '../keys/manage.ts'
import { recordMetrics } from '../metrics/record.ts'
import { fromWire, type WireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import type { Claim, CompleteAnswer, ControlPlane, HeartbeatAnswer } from '../protocol/protocol.ts'
import {
  claimRequest,
  completeRequest,
  heartbeatRequest,
  logsRequest,
  metricsRequest,
  releaseRequest,
} from '../protocol/requests.ts'
import { raiseHeld } from '../repositories/deployment.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import { requireListener } from '../transaction/access.ts'
import type { Core, ReadContext, ReadCore, RequestContext } from '../transaction/context.ts'
import { whileValid } from '../transaction/wait.ts'
import { claim, giveBack, release, releaseHolder } from './claim.ts'
import { complete } from './complete.ts'
import { heartbeat } from './heartbeat.ts'
import { appendLogs, appendOutput } from './output.ts'

/** For the built-in worker, which has all deployments without a listener. */
export function localControlPlane(core: Core): ControlPlane {
  const scope: Scope = { listenerId: null }
  return {
    claim: (request, signal) => claim(core, scope, request, signal),
    heartbeat: (request, signal) => heartbeat(core, scope, request, signal),
    logs: (request) => appendLogs(core, scope, request),
    output: (request) => appendOutput(core, scope, request),
    metrics: (request) => recordMetrics(core, scope, request),
    complete: (request) => complete(core, scope, request),
    release: (claim) => release(core, scope, claim),
    releaseHolder: (holder) => releaseHolder(core, scope, holder),
    raiseToken: (claim, seen) => raiseToken(core, scope, claim, seen),
  }
}

/** Raises the claim's token above `seen` (decimal) and returns it (README.md). Throws ClaimLostError. */
async function raiseToken(core: ReadCore, scope: Scope, claim: HeldClaim, seen: string): Promise<string> {
  const [raised] = await core.db.$queryRaw<{ token: bigint }[]>`
    ${raiseHeld(scope, claim, seen)} RETURNING d.lease_token AS token`
  if (!raised) throw new ClaimLostError()
  return String(raised.token)
}

const listenerPath = z.object({ listener_id: uuid })
const claimPath = listenerPath.extend({ claim_id: uuid })

/** Schemas of each call: `message` is its body, `input` the whole call. */
export const CALLS = {
  claim: call(listenerPath, claimRequest),
  heartbeat: call(listenerPath, heartbeatRequest),
  logs: call(claimPath, logsRequest),
  metrics: call(listenerPath, metricsRequest),
  complete: call(claimPath, completeRequest),
  release: call(claimPath, releaseRequest),
}

function call<P extends z.ZodObject, S extends z.ZodRawShape>(path: P, message: WireObject<S>) {
  return { input: z.object({ path, body: message.in }), message }
}

/** Key: the listener's. Empty after `wait_seconds`. Throws RATE_LIMITED if too many calls wait already. */
export async function claimForListener(ctx: RequestContext, raw: RawInput): Promise<Claim[]> {
  const { scope, body } = parseCall(ctx, CALLS.claim, raw)
  const request = { ...body, holder: body.holder ?? ctx.actor.subject }
  const take = () => takeSlot(ctx, 'listenerWaits')
  const claims = await whileValid(ctx, take, (signal, enter) => claim(ctx, scope, request, signal, enter))
  return handOver(ctx, claims, () => giveBack(ctx, scope, claims))
}

/** Takes the claims back if the client has disconnected, so it never got them, or if its key was revoked during the wait. */
export async function handOver<C>(ctx: ReadContext, claims: C[], takeBack: () => Promise<void>): Promise<C[]> {
  if (claims.length === 0) return claims
  ctx.client?.gone.addEventListener('abort', () => void takeBack(), { once: true })
  await refuseRevoked(ctx).catch(async (error) => {
    await takeBack()
    throw error
  })
  return claims
}

/** Key: the listener's. Renews the leases and answers in order. Waits for news, unless too many calls wait already. */
export async function heartbeatOfListener(ctx: RequestContext, raw: RawInput): Promise<HeartbeatAnswer[]> {
  const { scope, body } = parseCall(ctx, CALLS.heartbeat, raw)
  const take = () => tryTakeSlot(ctx, 'listenerWaits')
  const answers = await whileValid(ctx, take, (signal, enter) => heartbeat(ctx, scope, body, signal, enter))
  if (answers.some(({ assignment }) => assignment)) await refuseRevoked(ctx)
  return answers
}

/** Key: the listener's. Throws ClaimLostError, and NotFoundError for the revision. */
export async function logsOfListener(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { scope, claimId, body } = parseCall(ctx, CALLS.logs, raw)
  await appendLogs(ctx, scope, { claimId, ...body })
}

/** Key: the listener's. Samples of other deployments than the listener's are ignored. */
export async function metricsOfListener(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { scope, body } = parseCall(ctx, CALLS.metrics, raw)
  await recordMetrics(ctx, scope, body)
}

/** Key: the listener's. Throws ClaimLostError. */
export async function completeForListener(ctx: RequestContext, raw: RawInput): Promise<CompleteAnswer> {
  const { scope, claimId, body } = parseCall(ctx, CALLS.complete, raw)
  return complete(ctx, scope, { claimId, ...body })
}

/** Key: the listener's. Throws ClaimLostError. */
export async function releaseForListener(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { scope, claimId, body } = parseCall(ctx, CALLS.release, raw)
  await release(ctx, scope, { claimId, ...body })
}

function parseCall<S extends z.ZodRawShape>(
  ctx: ReadContext,
  { input, message }: { input: z.ZodObject<{ path: z.ZodObject; body: z.ZodObject }>; message: WireObject<S> },
  raw: RawInput,
): { body: z.output<WireObject<S>>; scope: Scope; claimId: string } {
  // 403 comes before parsing, 404 after it (docs/api-rules.md#errors)
  requireListener(ctx, ctx.actor.listenerId ?? '')
  const { path, body } = parse(input, raw)
  const { listener_id: listenerId, claim_id: claimId = '' } = path as { listener_id: string; claim_id?: string }
  requireListener(ctx, listenerId)
  return { body: fromWire(message, body), scope: { listenerId }, claimId }
}

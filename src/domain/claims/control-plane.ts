/**
 * The data-plane protocol (docs/protocol.md): the built-in worker calls it in process, a listener with its key. A listener's
 * call is authenticated, parsed, and limited to the listener's deployments.
 */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { takeSlot, tryTakeSlot } from '../concurrency/concurrency-limit.ts'
import { ClaimLostError, NotFoundError } from '../errors/errors.ts'
import { refuseRevoked } from '../keys/manage.ts'
import { appendLinesSql, linesAppended } from '../logs/append.ts'
import { recordMetrics } from '../metrics/record.ts'
import { fromWire, type WireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import type {
  Claim,
  CompleteAnswer,
  ControlPlane,
  HeartbeatAnswer,
  LogsRequest,
  OutputRequest,
} from '../protocol/protocol.ts'
import {
  claimRequest,
  completeRequest,
  heartbeatRequest,
  logsRequest,
  metricsRequest,
  releaseRequest,
} from '../protocol/requests.ts'
import { raiseHeld } from '../repositories/deployment.ts'
import { type HeldClaim, isHeldUnder, type Scope } from '../repositories/lease.ts'
import { requireListener } from '../transaction/access.ts'
import type { Core, ReadContext, ReadCore, RequestContext, WriteCore } from '../transaction/context.ts'
import { whileValid } from '../transaction/wait.ts'
import { claim, giveBack, release, releaseHolder } from './claim.ts'
import { complete } from './complete.ts'
import { heartbeat } from './heartbeat.ts'
import { returningLostTry } from './liveness.ts'

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

/**
 * Appends `lines` if the output of `source` ends at `from`, and returns where it ends now. If that differs, the caller
 * continues from there: an answer was lost, or another server was faster. One statement. Throws ClaimLostError.
 */
function appendOutput(core: Core, scope: Scope, request: OutputRequest): Promise<number> {
  return returningLostTry(core, scope, request, () => appendAt(core, scope, request))
}

/** The position commits with the lines: none is lost or doubled. */
async function appendAt(core: WriteCore, scope: Scope, request: OutputRequest): Promise<number> {
  const { source, from, to } = request
  const lines = request.lines.map((line) => ({ ...line, type: 'deploy' as const }))
  // the revision must belong to the deployment; any other id is forged
  const own = Prisma.sql`
    WHERE EXISTS (SELECT 1 FROM revisions r WHERE r.id = l.revision_id AND r.deployment_id = turn.id)`
  const [claimed] = await core.db.$queryRaw<{ id: string; moved: boolean; line: bigint }[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id, p.line FROM deployments d
      LEFT JOIN output_positions p ON p.deployment_id = d.id AND p.source = ${source}
      WHERE ${isHeldUnder(scope, request)}
    ), moved AS (
      INSERT INTO output_positions AS p (deployment_id, source, line)
      SELECT id, ${source}, ${to}::bigint FROM claimed WHERE coalesce(line, 0) = ${from}::bigint AND ${to}::bigint > ${from}::bigint
      ON CONFLICT (deployment_id, source) DO UPDATE SET line = EXCLUDED.line WHERE p.line = ${from}::bigint
      RETURNING p.deployment_id AS id
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM moved`, lines, own)}
    SELECT id::text, EXISTS (SELECT 1 FROM moved) AS moved, coalesce(line, 0) AS line FROM claimed`
  if (!claimed) throw new ClaimLostError()
  if (!claimed.moved) return Number(claimed.line)
  linesAppended(core, claimed.id, lines.length)
  return to
}

/** One statement; never waits for the deployment's row. Throws ClaimLostError, and NotFoundError for the revision. */
async function appendLogs(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  await returningLostTry(core, scope, request, () => append(core, scope, request))
}

async function append(core: WriteCore, scope: Scope, request: LogsRequest): Promise<void> {
  const { revisionId, attempt, entries } = request
  const lines = entries.map((entry) => ({ ...entry, revisionId, attempt }))
  const [claimed] = await core.db.$queryRaw<{ id: string; known: boolean }[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id, EXISTS (
        SELECT 1 FROM revisions r WHERE r.id = ${revisionId}::uuid AND r.deployment_id = d.id) AS known
      FROM deployments d
      WHERE ${isHeldUnder(scope, request)}
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM claimed WHERE known`, lines)}
    SELECT id::text, known FROM claimed`
  if (!claimed) throw new ClaimLostError()
  if (!claimed.known) throw new NotFoundError('Revision', revisionId)
  linesAppended(core, claimed.id, lines.length)
}

/**
 * The builders' protocol (docs/protocol.md#builders), called with a key of the role builder. A call is authenticated,
 * parsed, and limited to the builds of the key's workspace or organization.
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { AbortScope } from '../../platform/async/time-limit.ts'
import { handOver } from '../claims/control-plane.ts'
import { takeSlot, tryTakeSlot } from '../concurrency/concurrency-limit.ts'
import { ClaimLostError } from '../errors/errors.ts'
import { appendLinesSql, linesAppended } from '../logs/append.ts'
import { fromWire, type WireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import {
  type BuilderAccess,
  type BuilderClaim,
  type BuilderHeartbeatAnswer,
  type BuilderLogsRequest,
  builderAccessRequest,
  builderClaimRequest,
  builderCompleteRequest,
  builderHeartbeatRequest,
  builderLogsRequest,
} from '../protocol/builders.ts'
import { releaseRequest, token } from '../protocol/requests.ts'
import type { ReadContext, RequestContext, WriteCore } from '../transaction/context.ts'
import { whileValid } from '../transaction/wait.ts'
import { accessOfBuild, tarballOfBuild } from './access.ts'
import { claimBuilds, giveBuildsBack } from './claim.ts'
import { completeBuild } from './complete.ts'
import { heartbeatOfBuilds } from './heartbeat.ts'
import { type BuilderScope, buildHeldUnderSql, releaseBuild, returningLostTry, scopeOf } from './lease.ts'

const claimPath = z.object({ claim_id: uuid })

/** Each call's body (`message`) and the whole call as JSON (`input`). */
export const BUILDER_CALLS = {
  claim: { input: z.object({ body: builderClaimRequest.in }), message: builderClaimRequest },
  heartbeat: { input: z.object({ body: builderHeartbeatRequest.in }), message: builderHeartbeatRequest },
  access: call(builderAccessRequest),
  logs: call(builderLogsRequest),
  complete: call(builderCompleteRequest),
  release: call(releaseRequest),
}

function call<S extends z.ZodRawShape>(message: WireObject<S>) {
  return { input: z.object({ path: claimPath, body: message.in }), message }
}

/** Key: a builder's. Returns at most `max` builds; empty after `wait_seconds`. Throws RATE_LIMITED. */
export async function claimForBuilder(ctx: RequestContext, raw: RawInput): Promise<BuilderClaim[]> {
  const { scope, body } = parseCall(ctx, BUILDER_CALLS.claim, raw)
  const request = { ...body, holder: body.holder ?? ctx.actor.name }
  const take = () => takeSlot(ctx, 'listenerWaits')
  const claims = await whileValid(ctx, take, (signal, enter) => claimBuilds(ctx, scope, request, signal, enter))
  return handOver(ctx, claims, () => giveBuildsBack(ctx, scope, claims))
}

/** Key: a builder's. Answers for each claim in order. Waits up to `wait_seconds` while none is lost. */
export async function heartbeatOfBuilder(ctx: RequestContext, raw: RawInput): Promise<BuilderHeartbeatAnswer[]> {
  const { scope, body } = parseCall(ctx, BUILDER_CALLS.heartbeat, raw)
  const take = () => tryTakeSlot(ctx, 'listenerWaits')
  return whileValid(ctx, take, (signal, enter) => heartbeatOfBuilds(ctx, scope, body, signal, enter))
}

/** Key: a builder's. Throws ClaimLostError. */
export async function accessForBuilder(ctx: RequestContext, raw: RawInput): Promise<BuilderAccess> {
  const { scope, claimId, body } = parseCall(ctx, BUILDER_CALLS.access, raw)
  return accessOfBuild(ctx, scope, { claimId, ...body }, clientGone(ctx))
}

/** Ends slow downloads, which take places from others of the organization. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000

/**
 * Key: a builder's. Throws ClaimLostError, NotFoundError for a missing tarball, and RATE_LIMITED at the organization's limit
 * of downloads. The bytes end with an error at the timeout.
 */
export async function tarballForBuilder(
  ctx: RequestContext,
  raw: RawInput,
  ms = DOWNLOAD_TIMEOUT_MS,
): Promise<Readable> {
  const builder = scopeOf(ctx)
  const { path, query } = parse(tarballInput, raw)
  const leave = takeSlot(ctx, 'downloads')
  const scope = new AbortScope(ctx.client?.gone, leave)
  scope.limit(ms)
  try {
    const bytes = await tarballOfBuild(ctx, builder, { claimId: path.claim_id, token: query.token }, scope.signal)
    return bytes.once('close', () => scope.end())
  } catch (error) {
    scope.end()
    throw error
  }
}

export const tarballInput = z.object({ path: claimPath, query: z.object({ token }) })

/** Key: a builder's. Throws ClaimLostError. */
export async function logsOfBuilder(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { scope, claimId, body } = parseCall(ctx, BUILDER_CALLS.logs, raw)
  const request = { claimId, ...body }
  await returningLostTry(ctx, scope, request, () => appendBuildLogs(ctx, scope, request))
}

/** Key: a builder's. Throws ClaimLostError. */
export async function completeForBuilder(ctx: RequestContext, raw: RawInput): Promise<{ recorded: boolean }> {
  const { scope, claimId, body } = parseCall(ctx, BUILDER_CALLS.complete, raw)
  return { recorded: await completeBuild(ctx, scope, { claimId, ...body }) }
}

/** Key: a builder's. Throws ClaimLostError. */
export async function releaseForBuilder(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { scope, claimId, body } = parseCall(ctx, BUILDER_CALLS.release, raw)
  await releaseBuild(ctx, scope, { claimId, ...body })
}

const clientGone = ({ client }: ReadContext): AbortSignal => client?.gone ?? new AbortController().signal

function parseCall<S extends z.ZodRawShape>(
  ctx: ReadContext,
  { input, message }: { input: z.ZodObject<{ path?: z.ZodObject; body: z.ZodObject }>; message: WireObject<S> },
  raw: RawInput,
): { body: z.output<WireObject<S>>; scope: BuilderScope; claimId: string } {
  // 403 comes before parsing (docs/api-rules.md#errors)
  const scope = scopeOf(ctx)
  const { path, body } = parse(input, raw)
  const { claim_id: claimId = '' } = (path ?? {}) as { claim_id?: string }
  return { body: fromWire(message, body), scope, claimId }
}

/** Appends to the build log of the claim's revision. Throws ClaimLostError. */
async function appendBuildLogs(core: WriteCore, scope: BuilderScope, request: BuilderLogsRequest): Promise<void> {
  const [build] = await core.db.$queryRaw<{ revisionId: string; attempt: number }[]>`
    SELECT r.id AS "revisionId", r.attempt
    FROM steps s JOIN deployments d ON d.id = s.deployment_id JOIN revisions r ON r.id = s.revision_id
    WHERE ${buildHeldUnderSql(scope, request)}`
  if (!build) throw new ClaimLostError()
  const lines = request.entries.map((entry) => ({ ...entry, ...build, type: 'build' as const }))
  const [claimed] = await core.db.$queryRaw<{ id: string }[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id FROM steps s JOIN deployments d ON d.id = s.deployment_id WHERE ${buildHeldUnderSql(scope, request)}
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM claimed`, lines)}
    SELECT id::text FROM claimed`
  if (!claimed) throw new ClaimLostError()
  linesAppended(core, claimed.id, lines.length)
}

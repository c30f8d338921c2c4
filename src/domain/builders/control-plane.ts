/**
 * The builders' protocol (docs/protocol.md#builders), called with a key of the role builder. A call is authenticated, parsed, and
 * limited to the builds of the key's workspace or organization. Push target and source are requested when a build begins, because
 * the credentials are short-lived.
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { AbortScope } from '../../platform/async/time-limit.ts'
import { handOver } from '../claims/control-plane.ts'
import { takeSlot, tryTakeSlot } from '../concurrency/concurrency-limit.ts'
import { ClaimLostError, NotFoundError } from '../errors/errors.ts'
import { appendLinesSql, linesAppended } from '../logs/append.ts'
import { fromWire, type WireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { repositoryOf } from '../ports/registry.ts'
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
import type { HeldClaim } from '../repositories/lease.ts'
import type { Core, ReadContext, RequestContext, WriteCore } from '../transaction/context.ts'
import { whileValid } from '../transaction/wait.ts'
import type { Explanation } from '../values/explanation.ts'
import { claimBuilds, giveBuildsBack } from './claim.ts'
import { completeBuild, heartbeatOfBuilds } from './complete.ts'
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

/** How long a call waits for a git provider that is down. */
const MAX_WAIT_MS = 20_000

interface Building {
  deploymentId: string
  workspaceId: string
  revisionId: string
  source: string
  /** until the build's deadline; credentials expire with it */
  secondsLeft: number
}

/** Throws ClaimLostError. */
async function accessOfBuild(
  core: Core,
  scope: BuilderScope,
  claim: HeldClaim,
  signal: AbortSignal,
): Promise<BuilderAccess> {
  const build = await findBuild(core, scope, claim)
  const { registry } = core
  if (!registry) return { ...NOTHING, failure: NO_REGISTRY }
  const found =
    build.source === 'gitprovider' && core.sources
      ? await core.sources.git(build.deploymentId, signal, MAX_WAIT_MS)
      : { credentials: null }
  if ('failure' in found) return { ...NOTHING, failure: found.failure }
  const repository = repositoryOf({ id: build.deploymentId, workspaceId: build.workspaceId })
  const access = [{ repository, actions: ['pull', 'push'] as const }]
  return {
    repository: {
      name: `${registry.host}/${repository}`,
      insecure: registry.insecure,
      username: 'token',
      password: await registry.sign(`deployment:${build.deploymentId}`, access, build.secondsLeft),
    },
    git: found.credentials,
    tarball: build.source === 'internal_source',
    failure: null,
  }
}

const NO_REGISTRY: Explanation = {
  reason: 'NO_BUILDER',
  message: 'REGISTRY_URL is not set on the server any more, so an image has no place to be pushed to.',
}
const NOTHING = { repository: null, git: null, tarball: false }

/** The bytes of the build's tarball. Throws ClaimLostError, and NotFoundError with advice for people. */
async function tarballOfBuild(
  core: Core,
  scope: BuilderScope,
  claim: HeldClaim,
  signal: AbortSignal,
): Promise<Readable> {
  const { revisionId } = await findBuild(core, scope, claim)
  const found = await core.sources?.tarball(revisionId, signal)
  if (!found || 'failure' in found) throw new NotFoundError('Revision', revisionId, found?.failure.message)
  return found.bytes
}

function findBuild(core: Core, scope: BuilderScope, claim: HeldClaim): Promise<Building> {
  return returningLostTry(core, scope, claim, async () => {
    const [build] = await core.db.$queryRaw<Building[]>`
      SELECT d.id AS "deploymentId", d.workspace_id AS "workspaceId", s.revision_id AS "revisionId", d.source,
        greatest(1, ceil(extract(epoch FROM s.deadline_at - now())))::int AS "secondsLeft"
      FROM steps s JOIN deployments d ON d.id = s.deployment_id WHERE ${buildHeldUnderSql(scope, claim)}`
    if (!build) throw new ClaimLostError()
    return build
  })
}

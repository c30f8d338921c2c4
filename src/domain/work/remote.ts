/**
 * The calls of a listener's key (contract 7): who it is, then the shape, then the verbs that the built-in worker
 * uses too (local.ts), for the deployments of this listener alone.
 */
import { z } from 'zod'
import { requireListener } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { uuid } from '../fields.ts'
import { refuseRevoked } from '../keys/refuse-revoked.ts'
import { parse, type RawInput } from '../parse.ts'
import { knownReason } from '../reasons.ts'
import { findPlace, takePlace } from '../room.ts'
import { claim, giveBack } from './claim.ts'
import { complete } from './complete.ts'
import { heartbeatItemFromWire } from './from-wire.ts'
import { heartbeat } from './heartbeat.ts'
import type { Scope } from './lease.ts'
import { appendLogs } from './logs.ts'
import type { Claim, CompleteAnswer, HeartbeatAnswer } from './protocol.ts'
import { release } from './release.ts'
import { claimBody, completeBody, heartbeatBody, logsBody, releaseBody } from './wire.ts'

const listenerPath = z.object({ listener_id: uuid })
const claimPath = listenerPath.extend({ claim_id: uuid })

export const claimInput = z.object({ path: listenerPath, body: claimBody })
export const heartbeatInput = z.object({ path: listenerPath, body: heartbeatBody })
export const logsInput = z.object({ path: claimPath, body: logsBody })
export const completeInput = z.object({ path: claimPath, body: completeBody })
export const releaseInput = z.object({ path: claimPath, body: releaseBody })

/**
 * Key: the listener's own. Returns at most `max` claims; an empty list when there was nothing, after `wait_seconds`.
 * Throws RATE_LIMITED when there was nothing and too many wait already.
 */
export async function claimForListener(ctx: RequestContext, raw: RawInput): Promise<Claim[]> {
  const { input, scope } = open(ctx, claimInput, raw)
  const { holder = ctx.actor.subject, max, lease_seconds, wait_seconds, version } = input.body
  const request = {
    holder,
    max,
    leaseSeconds: lease_seconds,
    waitSeconds: wait_seconds,
    ...(version ? { version } : {}),
  }
  const enter = () => takePlace(ctx, 'listenerWaits')
  const claims = await claim(ctx, scope, request, ctx.signal, enter)
  if (claims.length === 0) return claims
  const takeBack = () => giveBack(ctx, scope, claims)
  // an answer that does not get there is one that nobody acts on
  ctx.signal?.addEventListener('abort', takeBack, { once: true })
  await refuseRevoked(ctx).catch(async (error) => {
    await takeBack()
    throw error
  })
  return claims
}

/**
 * Key: the listener's own. Answers for each claim, in the order asked; waits up to `wait_seconds` while nothing is new,
 * and when too many wait already not at all: its leases are extended in any case.
 */
export async function heartbeatOfListener(ctx: RequestContext, raw: RawInput): Promise<HeartbeatAnswer[]> {
  const { input, scope } = open(ctx, heartbeatInput, raw)
  const { lease_seconds, wait_seconds, claims } = input.body
  const request = {
    leaseSeconds: lease_seconds,
    waitSeconds: wait_seconds,
    claims: claims.map(heartbeatItemFromWire),
  }
  const enter = () => findPlace(ctx, 'listenerWaits')
  const answers = await heartbeat(ctx, scope, request, ctx.signal, enter)
  if (answers.some(({ assignment }) => assignment)) await refuseRevoked(ctx)
  return answers
}

/** Key: the listener's own. Throws ClaimLostError, and NotFoundError for the revision. */
export async function logsOfListener(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { input, scope, claimId } = open(ctx, logsInput, raw)
  const { token, revision_id, attempt, entries } = input.body
  await appendLogs(ctx, scope, {
    claimId,
    token,
    revisionId: revision_id,
    attempt,
    entries: entries.map(({ type, level, message, time }) => ({ type, message, time, ...(level ? { level } : {}) })),
  })
}

/** Key: the listener's own. Throws ClaimLostError. */
export async function completeForListener(ctx: RequestContext, raw: RawInput): Promise<CompleteAnswer> {
  const { input, scope, claimId } = open(ctx, completeInput, raw)
  const { token, step_id, outcome, ...told } = input.body
  return complete(ctx, scope, {
    claimId,
    token,
    stepId: step_id,
    outcome,
    reason: knownReason(told.reason, undefined),
    message: told.message ?? undefined,
    repoCommitSha: told.repo_commit_sha ?? undefined,
    artifact: told.artifact ?? undefined,
    artifactLost: told.artifact_lost ?? undefined,
    tries: told.tries ?? undefined,
    url: told.url ?? undefined,
    imageVersion: told.image_version ?? undefined,
  })
}

/** Key: the listener's own. Throws ClaimLostError. */
export async function releaseForListener(ctx: RequestContext, raw: RawInput): Promise<void> {
  const { input, scope, claimId } = open(ctx, releaseInput, raw)
  await release(ctx, scope, { claimId, token: input.body.token })
}

type ListenerInput = z.ZodObject<{ path: typeof listenerPath | typeof claimPath }>

function open<S extends ListenerInput>(
  ctx: RequestContext,
  schema: S,
  raw: RawInput,
): { input: z.output<S>; scope: Scope; claimId: string } {
  // 403 comes before the shape, and 404 behind it (contract 2)
  requireListener(ctx, ctx.actor.listenerId ?? '')
  const input = parse(schema, raw)
  const { listener_id: listenerId, claim_id: claimId = '' } = input.path as { listener_id: string; claim_id?: string }
  requireListener(ctx, listenerId)
  return { input, scope: { listenerId }, claimId }
}

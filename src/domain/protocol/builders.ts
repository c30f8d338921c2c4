/**
 * The calls of builders (docs/protocol.md#builders). A builder takes offered BUILD steps and gets only what it needs to build them.
 * Each message is declared once; its descriptions appear in the OpenAPI document.
 */
import { z } from 'zod'
import { wireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { revisionWork } from './answers.ts'
import {
  buildFields,
  leaseSeconds,
  lineFields,
  MAX_ITEMS,
  maybe,
  progress,
  text,
  token,
  waitSeconds,
} from './requests.ts'

/** Of one claim call or heartbeat. */
const MAX_BUILDS_PER_CALL = 100

export const builderClaimRequest = wireObject(
  {
    holder: text(256)
      .min(1)
      .optional()
      .describe('The name of the builder, for people. Default: the name of the API key.'),
    max: z.int().min(1).max(MAX_BUILDS_PER_CALL).default(1).describe('Builds at most in this answer: its free places.'),
    leaseSeconds,
    waitSeconds: waitSeconds.describe('When there is nothing to build: waits up to so long for something.'),
  },
  { id: 'BuilderClaimRequest' },
)

export const builderClaim = wireObject(
  {
    claimId: uuid,
    token: z.string().describe('Fencing token: decimal digits. It grows with each claim of a step.'),
    leaseSeconds: z.int(),
    deployment: wireObject({ id: uuid, workspaceId: uuid, name: z.string() }),
    stepId: uuid,
    tries: z.int().describe('1 at the first try.'),
    secondsLeft: z
      .number()
      .describe('As of this answer, until the control plane fails it by itself: count them by a clock of your own.'),
    revision: revisionWork,
  },
  { id: 'BuilderClaim', description: 'A build, and a lease on it.' },
)

export const builderClaimAnswer = wireObject({ claims: z.array(builderClaim) }, { id: 'BuilderClaimAnswer' })

export const builderHeartbeatRequest = wireObject(
  {
    leaseSeconds,
    waitSeconds: waitSeconds.describe('While none is lost: waits up to so long until one is.'),
    claims: z
      .array(
        wireObject({
          claimId: uuid,
          token,
          progress: progress
            .nullish()
            .describe(
              'What the build is at: it stands behind the name of the builder in status_message of the revision. null: nothing to say; absent: as it was.',
            ),
        }),
      )
      .max(MAX_BUILDS_PER_CALL),
  },
  { id: 'BuilderHeartbeatRequest' },
)

export const builderHeartbeatAnswer = wireObject(
  {
    claims: z
      .array(
        wireObject({
          claimId: uuid,
          lost: z.boolean().describe('The lease is gone, or the build is not wanted any more: end it at once.'),
        }),
      )
      .describe('One for each that was asked, in the order asked.'),
  },
  { id: 'BuilderHeartbeatAnswer' },
)

export const builderAccessRequest = wireObject({ token }, { id: 'BuilderAccessRequest' })

const credentials = { username: z.string(), password: z.string().describe('Never log it.') }

export const builderAccessAnswer = wireObject(
  {
    repository: wireObject({
      name: z.string().describe('With the registry’s host: `@` and a digest behind it make a reference.'),
      insecure: z.boolean().describe('The registry is reached without TLS.'),
      ...credentials,
    })
      .nullable()
      .describe('Where to push: credentials for this repository and those below it, as long as a build may take.'),
    git: wireObject({
      ...credentials,
      repoUrl: z
        .string()
        .optional()
        .describe('Fetch from here instead of the revision’s `repo_url`: the provider renamed the repository.'),
    })
      .nullable()
      .describe('For the repository of the source; null: it is read without.'),
    tarball: z.boolean().describe('The source is an uploaded tarball: `GET …/tarball`.'),
    failure: wireObject({ reason: z.string(), message: z.string() })
      .nullable()
      .describe('Why there is no access: complete the build as `failed` with it.'),
  },
  { id: 'BuilderAccessAnswer' },
)

export const builderLogsRequest = wireObject(
  { token, entries: z.array(wireObject(lineFields)).min(1).max(MAX_ITEMS) },
  { id: 'BuilderLogsRequest' },
)

export const builderCompleteRequest = wireObject(
  {
    token,
    outcome: z
      .enum(['succeeded', 'failed', 'stopped'])
      .describe(
        '`stopped`: with a `message`, something that is not its own fault broke it: it is offered again, and fails with the message only if that was its last try.',
      ),
    ...buildFields,
    artifact: maybe(text(1024).min(1)).describe(
      '`image:` and the reference of what was pushed, by its digest, in the repository that `access` has named. Required when it succeeded.',
    ),
  },
  { id: 'BuilderCompleteRequest' },
)

export const builderCompleteAnswer = wireObject(
  { recorded: z.boolean().describe('false: the build had ended in the meantime; its outcome was not recorded.') },
  { id: 'BuilderCompleteAnswer' },
)

export type BuilderClaimRequest = z.output<typeof builderClaimRequest> & { holder: string }
export type BuilderClaim = z.output<typeof builderClaim>
export type BuilderHeartbeatRequest = z.output<typeof builderHeartbeatRequest>
export type BuilderHeartbeatAnswer = z.output<typeof builderHeartbeatAnswer>['claims'][number]
export type BuilderAccess = z.output<typeof builderAccessAnswer>
export type BuilderLogsRequest = z.output<typeof builderLogsRequest> & { claimId: string }
export type BuilderCompleteRequest = z.output<typeof builderCompleteRequest> & { claimId: string }

/** Messages of builders (docs/protocol.md#builders), which build offered BUILD steps. */
import { z } from 'zod'
import { wireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { revisionWork, stepTraceparent } from './answers.ts'
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

const MAX_BUILDS_PER_CALL = 100

export const builderClaimRequest = wireObject(
  {
    holder: text(256)
      .min(1)
      .optional()
      .describe('The name of the builder, for people. Default: the name of the API key.'),
    max: z
      .int()
      .min(1)
      .max(MAX_BUILDS_PER_CALL)
      .default(1)
      .describe('Maximum builds in this response: the free capacity of the builder.'),
    leaseSeconds,
    waitSeconds: waitSeconds.describe('Maximum seconds to wait for a build.'),
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
    tries: z.int().describe('The number of this try, from 1.'),
    secondsLeft: z
      .number()
      .describe(
        'Seconds from this response until the control plane fails the build. Measure them with your own clock.',
      ),
    revision: revisionWork,
    traceparent: stepTraceparent,
  },
  { id: 'BuilderClaim', description: 'A build with a lease on it.' },
)

export const builderClaimAnswer = wireObject({ claims: z.array(builderClaim) }, { id: 'BuilderClaimAnswer' })

export const builderHeartbeatRequest = wireObject(
  {
    leaseSeconds,
    waitSeconds: waitSeconds.describe('Maximum seconds to wait until a claim is lost.'),
    claims: z
      .array(
        wireObject({
          claimId: uuid,
          token,
          progress: progress
            .nullish()
            .describe(
              'The progress of the build. The status_message of the revision shows it after the name of the builder. null: no progress to show. Absent: unchanged.',
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
          lost: z
            .boolean()
            .describe('true: the lease has ended or the build was cancelled. End the build immediately.'),
        }),
      )
      .describe('One item per claim of the request, in the same order.'),
  },
  { id: 'BuilderHeartbeatAnswer' },
)

export const builderAccessRequest = wireObject({ token }, { id: 'BuilderAccessRequest' })

const credentials = { username: z.string(), password: z.string().describe('Never log it.') }

export const builderAccessAnswer = wireObject(
  {
    repository: wireObject({
      name: z.string().describe('The repository with the registry’s host. Append `@` and a digest to get a reference.'),
      insecure: z.boolean().describe('The registry is reached without TLS.'),
      ...credentials,
    })
      .nullable()
      .describe(
        'Where to push. The credentials are for this repository and those below it, and last as long as a build may take.',
      ),
    git: wireObject({
      ...credentials,
      repoUrl: z
        .string()
        .optional()
        .describe(
          'The URL to fetch from instead of the revision’s `repo_url`, after the provider renamed the repository.',
        ),
    })
      .nullable()
      .describe('Credentials for the source repository. null: it needs none.'),
    tarball: z.boolean().describe('true: the source is an uploaded tarball. Get it from `GET …/tarball`.'),
    failure: wireObject({ reason: z.string(), message: z.string() })
      .nullable()
      .describe('Why there is no access. Complete the build as `failed` with this reason and message.'),
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
        '`stopped`: the build was stopped. With a `message`, an external cause broke it: the build is offered again, and fails with the message only after its last try.',
      ),
    ...buildFields,
    artifact: maybe(text(1024).min(1)).describe(
      '`image:` and the reference of the pushed image, by digest, in the repository from `access`. Required for `succeeded`.',
    ),
  },
  { id: 'BuilderCompleteRequest' },
)

export const builderCompleteAnswer = wireObject(
  { recorded: z.boolean().describe('false: the build ended before this call, so the outcome was not recorded.') },
  { id: 'BuilderCompleteAnswer' },
)

export type BuilderClaimRequest = z.output<typeof builderClaimRequest> & { holder: string }
export type BuilderClaim = z.output<typeof builderClaim>
export type BuilderHeartbeatRequest = z.output<typeof builderHeartbeatRequest>
export type BuilderHeartbeatAnswer = z.output<typeof builderHeartbeatAnswer>['claims'][number]
export type BuilderAccess = z.output<typeof builderAccessAnswer>
export type BuilderLogsRequest = z.output<typeof builderLogsRequest> & { claimId: string }
export type BuilderCompleteRequest = z.output<typeof builderCompleteRequest> & { claimId: string }

/**
 * The data-plane protocol as JSON (contract 7): zod schemas of what is sent over HTTP and what is answered. The
 * server's verbs parse with them, the OpenAPI document is made from them, and the listener program reads answers with
 * them, so the two sides can't drift apart. to-wire.ts and from-wire.ts convert to and from the types of protocol.ts.
 */
import { z } from 'zod'
import { LogLevel, LogType, Source, StepKind } from '../../generated/prisma/enums.ts'
import { resourceSpec } from '../deployments/resource-spec.ts'
import { secret, secretReference } from '../deployments/schemas.ts'
import { count, optional, time, uuid } from '../fields.ts'

const token = z
  .string()
  .regex(/^\d{1,19}$/, 'Must be the token of the claim: decimal digits.')
  .describe('Fencing token of the claim: decimal digits of a 64-bit integer.')
const leaseSeconds = z
  .int()
  .min(1)
  .max(600)
  .default(30)
  .describe('How long the lease lasts from the beginning of this call on.')
const waitSeconds = z.int().min(0).max(60).default(0)
const text = (max: number) => z.string().max(max)

export const claimBody = z
  .object({
    holder: text(256)
      .min(1)
      .optional()
      .describe('Names the process that asks, for people. Default: the id of the API key.'),
    max: z.int().min(1).max(1000).default(20).describe('Claims at most in this answer.'),
    lease_seconds: leaseSeconds,
    wait_seconds: waitSeconds.describe('When there is nothing to claim: waits up to so long for something.'),
    version: text(128).min(1).optional().describe('Version of the listener program; the listener shows it.'),
  })
  .meta({ id: 'ClaimRequest' })

const reason = text(64).describe(
  'A word of the enum Reason. One that is not known here, or none, counts as the generic one.',
)

export const health = z
  .object({
    ready: count.describe('Replicas that serve.'),
    desired: count.describe('Replicas that should.'),
    message: text(1024).nullable().default(null).describe('Why not all of them serve, for people.'),
    reason: optional(reason),
  })
  .meta({ id: 'Health' })

const progress = z
  .object({ reason: optional(reason), message: text(65_536).describe('For people; 2,000 characters are kept.') })
  .meta({ id: 'Progress' })

export const heartbeatItem = z
  .object({
    claim_id: uuid,
    token,
    generation: z
      .int()
      .min(0)
      .optional()
      .describe('The newest generation this holder was told; absent: tell everything.'),
    progress: z
      .union([progress, text(1024)])
      .nullish()
      .describe(
        'What the step under way waits for: status_message and reason of its revision while it lasts. null: nothing is in its way; absent: as it was. A text is one without a reason.',
      ),
    health: optional(health),
    idle: optional(z.boolean()).describe('It serves nobody: the status of the deployment becomes UNUSED.'),
  })
  .meta({ id: 'HeartbeatItem' })

export const heartbeatBody = z
  .object({
    lease_seconds: leaseSeconds,
    wait_seconds: waitSeconds.describe('When there is no news of any of the claims: waits up to so long for some.'),
    claims: z.array(heartbeatItem).max(1000),
  })
  .meta({ id: 'HeartbeatRequest' })

export const logsBody = z
  .object({
    token,
    revision_id: uuid,
    attempt: z.int().min(1).max(2_147_483_647),
    entries: z
      .array(
        z.object({
          type: z.enum(LogType),
          level: optional(z.enum(LogLevel)).describe('Default: info.'),
          message: text(65_536).describe('One line, without its newline.'),
          time,
        }),
      )
      .min(1)
      .max(1000),
  })
  .meta({ id: 'LogsRequest' })

export const completeBody = z
  .object({
    token,
    step_id: uuid,
    outcome: z
      .enum(['succeeded', 'failed', 'stopped'])
      .describe(
        '`stopped`: nothing of it is under way any more. It was withdrawn (`stop`), or (with a `message`) something that ' +
          'is not its own fault broke it: it is taken again, and fails with the message only if that was its last try.',
      ),
    tries: optional(z.int().min(1)).describe('Which try of the step it is about; a report of another one is ignored.'),
    message: optional(text(65_536)).describe('Why it failed, for people: the status_message of the revision.'),
    reason: optional(reason).describe(
      'Why it failed, for machines: a word of the enum Reason. Default: the generic one of its kind.',
    ),
    repo_commit_sha: optional(z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'Must be a full commit id.')).describe(
      'BUILD, whatever its outcome: the exact commit, if it got so far; the revision keeps the first that is reported. ' +
        'Required when one of a `gitprovider` source succeeded.',
    ),
    artifact: optional(text(1024).min(1)).describe(
      'BUILD: what was built, in the words of whoever built it. Required when it succeeded.',
    ),
    artifact_lost: optional(z.boolean()).describe(
      'DEPLOY, failed: the artifact is gone; the next attempt builds again.',
    ),
    url: optional(z.url({ protocol: /^https?$/, error: 'Must be an http(s) URL.' }).max(2048)).describe(
      'DEPLOY: the address of the deployment.',
    ),
    image_version: optional(text(256)).describe('DEPLOY: becomes the image_version of the deployment.'),
  })
  .meta({ id: 'CompleteRequest' })

export const releaseBody = z.object({ token }).meta({ id: 'ReleaseRequest' })

const stamp = z.iso.datetime()

export const revisionWork = z
  .object({
    id: uuid,
    number: z.int().describe('1, 2, 3 … within the deployment.'),
    attempt: z.int().describe('1, and one more at each redeploy.'),
    source: z.enum(Source),
    repo_url: z.string().nullable(),
    repo_ref: z.string().nullable(),
    repo_commit_sha: z.string().nullable(),
    graph_config_path: z.string().nullable(),
    image_uri: z.string().nullable(),
    source_tarball_path: z.string().nullable(),
    install_command: z.string().nullable(),
    build_command: z.string().nullable(),
    artifact: z.string().nullable().describe('What BUILD reported.'),
    secrets: z.array(secret).describe('In clear: never log them.'),
  })
  .meta({ id: 'RevisionWork' })

const spec = resourceSpec.describe('The effective values: defaults are filled in.')

const customUrl = z.string().nullable().describe('The address that it is to have; null: yours to choose.')

export const run = z
  .object({
    revision: revisionWork,
    spec,
    secret_references: z.array(secretReference),
    custom_url: customUrl,
  })
  .meta({ id: 'Run', description: 'What must be serving now.' })

export const step = z
  .object({
    id: uuid,
    kind: z.enum(StepKind),
    tries: z.int().describe('1 at the first try.'),
    seconds_left: z
      .number()
      .optional()
      .describe('As of this answer, until the control plane fails it by itself: count them by a clock of your own.'),
    deadline_at: stamp.describe('The same as a time of the server’s clock, which need not be yours.'),
    revision: revisionWork.nullable().describe('For BUILD and DEPLOY.'),
    spec,
    secret_references: z.array(secretReference),
    custom_url: customUrl,
  })
  .meta({ id: 'Step', description: 'What moves the deployment on.' })

export const assignment = z
  .object({
    generation: z.int().describe('Grows with every change of run or step.'),
    run: run.nullable().describe('null: nothing must be serving.'),
    step: step.nullable(),
    stop: z.boolean().describe('The step under way was withdrawn: stop it, then complete it as `stopped`.'),
    keep_artifacts: z.array(z.string()).describe('Of what BUILD reported; others may be removed.'),
  })
  .meta({ id: 'Assignment' })

export const claim = assignment
  .extend({
    claim_id: uuid,
    token: z.string(),
    deployment: z.object({
      id: uuid,
      workspace_id: uuid,
      name: z.string(),
      k8s_namespace: z.string().nullable().describe('Where it has to be: one of the listener’s.'),
      provisioned: z.boolean().describe('Its PROVISION succeeded once.'),
    }),
    lease_seconds: z.int(),
  })
  .meta({ id: 'Claim' })

export const claimAnswer = z.object({ claims: z.array(claim) }).meta({ id: 'ClaimAnswer' })

export const heartbeatAnswer = z
  .object({
    claims: z
      .array(
        z.object({
          claim_id: uuid,
          lost: z.boolean().describe('The lease is gone: stop everything of this claim at once.'),
          assignment: assignment
            .nullable()
            .describe('Only when something changed since the generation that was named.'),
        }),
      )
      .describe('One for each that was asked, in the order asked.'),
  })
  .meta({ id: 'HeartbeatAnswer' })

export const completeAnswer = z
  .object({
    recorded: z.boolean().describe('false: the step had been closed in the meantime; the outcome was not recorded.'),
    assignment,
  })
  .meta({ id: 'CompleteAnswer' })

/** A schema's values. */
export type Wire<S extends z.ZodType> = z.output<S>

/** Responses of the data-plane protocol (docs/protocol.md). OpenAPI contains the field descriptions. */
import { z } from 'zod'
import { Source, StepKind } from '../../generated/prisma/enums.ts'
import { wireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { type EffectiveSpec, resourceSpec } from '../values/resource-spec.ts'
import type { CommitWords, RevisionSource } from '../values/revision-source.ts'
import { secret, secretReference } from '../values/shapes.ts'

const workColumns = {
  id: uuid,
  number: z.int().describe('The number of the revision within its deployment: 1, 2, 3 …'),
  attempt: z.int().describe('1 at first. Each redeploy adds 1.'),
  source: z.enum(Source),
  repoUrl: z.string().nullable(),
  repoRef: z.string().nullable(),
  /** the commit of an earlier build, also of a failed one; a rebuild uses it instead of `repoRef` */
  repoCommitSha: z.string().nullable(),
  graphConfigPath: z.string().nullable(),
  imageUri: z.string().nullable(),
  sourceTarballPath: z.string().nullable(),
  installCommand: z.string().nullable(),
  buildCommand: z.string().nullable(),
  artifact: z.string().nullable().describe('The artifact that BUILD reported.'),
} satisfies Record<string, z.ZodType> &
  Record<Exclude<keyof RevisionSource, 'basedOnId' | 'buildPlan' | keyof CommitWords>, z.ZodType>

export const WORK_COLUMNS = Object.fromEntries(Object.keys(workColumns).map((name) => [name, true])) as {
  [K in keyof typeof workColumns]: true
}

/** `secrets` are decrypted: never log this. */
export const revisionWork = wireObject(
  { ...workColumns, secrets: z.array(secret).describe('Decrypted values. Never log them.') },
  { id: 'RevisionWork' },
)

const placed = {
  spec: z.codec(resourceSpec.describe('The effective values, including defaults.'), z.custom<EffectiveSpec>(), {
    decode: (spec) => spec as EffectiveSpec,
    encode: (spec) => spec,
  }),
  secretReferences: z.array(secretReference),
  customUrl: z.string().nullable().describe('The URL that the deployment must have. null: you choose it.'),
}

export const run = wireObject(
  {
    revision: revisionWork,
    ...placed,
    restartedAt: z.iso
      .datetime()
      .optional()
      .describe(
        'Absent: no restart was requested since the deploy. Otherwise the processes of the revision must be newer than those of any other value: replace them once for each value.',
      ),
    idleMinutes: z
      .int()
      .optional()
      .describe(
        'The `idle_minutes` of the deployment. Absent: it has none. A data plane whose agents never sleep ignores it.',
      ),
  },
  { id: 'Run', description: 'The revision that must serve now.' },
)

/** of a step */
export const stepTraceparent = z
  .string()
  .optional()
  .describe(
    'W3C Trace Context of the step, for the spans of your work. The control plane exports the span of the step. Absent: it exports no traces.',
  )

const stepMessage = wireObject(
  {
    id: uuid,
    kind: z.enum(StepKind),
    tries: z.int().describe('The number of this try, from 1.'),
    secondsLeft: z
      .number()
      .optional()
      .describe('Seconds from this response until the control plane fails the step. Measure them with your own clock.'),
    deadlineAt: z.iso
      .datetime()
      .describe('The same deadline as a time of the server’s clock, which may differ from yours.'),
    revision: revisionWork.nullable().describe('The revision, for BUILD and DEPLOY.'),
    ...placed,
    traceparent: stepTraceparent,
  },
  { id: 'Step', description: 'The work that the deployment needs next.' },
)

export interface Step extends Omit<z.output<typeof stepMessage>, 'deadlineAt'> {
  secondsLeft: number
}

/** The code uses only `secondsLeft`. Older control planes do not send it. */
const step = z.codec(stepMessage, z.custom<Step>(), {
  decode: ({ deadlineAt, ...step }) => ({
    ...step,
    secondsLeft: step.secondsLeft ?? (Date.parse(deadlineAt) - Date.now()) / 1000,
  }),
  encode: (step) => ({ ...step, deadlineAt: new Date(Date.now() + step.secondsLeft * 1000).toISOString() }),
})

const assigned = {
  /** a heartbeat names it, and the response contains only newer assignments */
  generation: z.int().describe('Grows with every change of `run` or `step`.'),
  run: run.nullable().describe('The revision that must serve. null: nothing must serve.'),
  /** null: nothing to do, or stop the withdrawn step first (`stop`) */
  step: step.nullable(),
  stop: z.boolean().describe('true: the current step was withdrawn. Stop it, then complete it as `stopped`.'),
  /** absent: the deployment has no build for builders */
  builder: wireObject({
    stepId: uuid,
    holder: z
      .string()
      .nullable()
      .describe('The name of the builder that has the build. null: no builder has taken it yet.'),
  })
    .optional()
    .describe(
      'A BUILD that you left to builders. You get no step until it has ended. Do not remove artifacts during that time.',
    ),
  /** artifacts of the active revision, the last five deployed ones and any in progress */
  keepArtifacts: z
    .array(z.string())
    .describe('The artifacts that you must keep, as BUILD reported them. You may remove others.'),
}

/** The work of the lease holder as of `generation`. */
export const assignment = wireObject(assigned, { id: 'Assignment' })

export const claim = wireObject(
  {
    ...assigned,
    claimId: uuid,
    /** fencing token: grows per deployment; decimal digits of a 64-bit integer */
    token: z.string(),
    deployment: wireObject({
      id: uuid,
      workspaceId: uuid,
      name: z.string(),
      addressName: z.string().nullable().describe('The name in the deployment’s address. null: it has none.'),
      k8sNamespace: z.string().nullable().describe('The namespace of the deployment, one of the listener’s.'),
      provisioned: z.boolean().describe('true: a PROVISION of the deployment has succeeded.'),
    }),
    /** from this response on, unless a heartbeat extends it */
    leaseSeconds: z.int(),
  },
  { id: 'Claim' },
)

export const claimAnswer = wireObject({ claims: z.array(claim) }, { id: 'ClaimAnswer' })

export const heartbeatItemAnswer = wireObject({
  claimId: uuid,
  lost: z
    .boolean()
    .describe('true: the lease has ended. Stop all steps of this claim immediately. Keep the running agents running.'),
  assignment: assignment
    .nullable()
    .describe('The new assignment, only if it changed since the generation in the request.'),
})

export const heartbeatAnswer = wireObject(
  { claims: z.array(heartbeatItemAnswer).describe('One item per claim of the request, in the same order.') },
  { id: 'HeartbeatAnswer' },
)

export const completeAnswer = wireObject(
  {
    /** the commit of a build is recorded in any case */
    recorded: z.boolean().describe('false: the step was closed before this call, so the outcome was not recorded.'),
    assignment,
  },
  { id: 'CompleteAnswer' },
)

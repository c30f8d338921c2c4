/**
 * Answers of the data-plane protocol (docs/protocol.md). Each message is declared once.
 * The descriptions of fields appear in the OpenAPI document.
 */
import { z } from 'zod'
import { Source, StepKind } from '../../generated/prisma/enums.ts'
import { wireObject } from '../parsing/codec.ts'
import { uuid } from '../parsing/fields.ts'
import { type EffectiveSpec, resourceSpec } from '../values/resource-spec.ts'
import type { CommitWords, RevisionSource } from '../values/revision-source.ts'
import { secret, secretReference } from '../values/shapes.ts'

/** Of a revision's columns those that are needed to build or run it. */
const workColumns = {
  id: uuid,
  number: z.int().describe('1, 2, 3 … within the deployment.'),
  attempt: z.int().describe('1, and one more at each redeploy.'),
  source: z.enum(Source),
  repoUrl: z.string().nullable(),
  repoRef: z.string().nullable(),
  /** the exact commit of an earlier build, however that ended; a rebuild uses it instead of `repoRef` */
  repoCommitSha: z.string().nullable(),
  graphConfigPath: z.string().nullable(),
  imageUri: z.string().nullable(),
  sourceTarballPath: z.string().nullable(),
  installCommand: z.string().nullable(),
  buildCommand: z.string().nullable(),
  artifact: z.string().nullable().describe('What BUILD reported.'),
} satisfies Record<string, z.ZodType> &
  Record<Exclude<keyof RevisionSource, 'basedOnId' | 'buildPlan' | keyof CommitWords>, z.ZodType>

/** What the control plane has to read for a `revisionWork`. */
export const WORK_COLUMNS = Object.fromEntries(Object.keys(workColumns).map((name) => [name, true])) as {
  [K in keyof typeof workColumns]: true
}

/** `secrets` are in clear: never log this. */
export const revisionWork = wireObject(
  { ...workColumns, secrets: z.array(secret).describe('In clear: never log them.') },
  { id: 'RevisionWork' },
)

/** How it is to be run, besides its revision. */
const placed = {
  spec: z.codec(resourceSpec.describe('The effective values: defaults are filled in.'), z.custom<EffectiveSpec>(), {
    decode: (spec) => spec as EffectiveSpec,
    encode: (spec) => spec,
  }),
  secretReferences: z.array(secretReference),
  customUrl: z.string().nullable().describe('The address that it is to have; null: yours to choose.'),
}

export const run = wireObject(
  { revision: revisionWork, ...placed },
  { id: 'Run', description: 'What must be serving now.' },
)

const stepMessage = wireObject(
  {
    id: uuid,
    kind: z.enum(StepKind),
    tries: z.int().describe('1 at the first try.'),
    secondsLeft: z
      .number()
      .optional()
      .describe('As of this answer, until the control plane fails it by itself: count them by a clock of your own.'),
    deadlineAt: z.iso.datetime().describe('The same as a time of the server’s clock, which need not be yours.'),
    revision: revisionWork.nullable().describe('For BUILD and DEPLOY.'),
    ...placed,
  },
  { id: 'Step', description: 'What moves the deployment on.' },
)

export interface Step extends Omit<z.output<typeof stepMessage>, 'deadlineAt'> {
  secondsLeft: number
}

/** In the code there are only the seconds. A control plane of an older version does not say how many are left. */
const step = z.codec(stepMessage, z.custom<Step>(), {
  decode: ({ deadlineAt, ...step }) => ({
    ...step,
    secondsLeft: step.secondsLeft ?? (Date.parse(deadlineAt) - Date.now()) / 1000,
  }),
  encode: (step) => ({ ...step, deadlineAt: new Date(Date.now() + step.secondsLeft * 1000).toISOString() }),
})

const assigned = {
  /** a heartbeat names it, and is answered only what is newer */
  generation: z.int().describe('Grows with every change of run or step.'),
  run: run.nullable().describe('null: nothing must be serving.'),
  /** null: nothing to do, or the step given earlier was withdrawn and has to be stopped first (`stop`) */
  step: step.nullable(),
  stop: z.boolean().describe('The step under way was withdrawn: stop it, then complete it as `stopped`.'),
  /** absent: none has */
  builder: wireObject({
    stepId: uuid,
    holder: z.string().nullable().describe('The name of the builder that is at it; null: none has taken it yet.'),
  })
    .optional()
    .describe(
      'A BUILD that you have left to builders: there is no step for you until it has ended. Remove no artifacts meanwhile.',
    ),
  /** of the active revision, the last five deployed and any in progress */
  keepArtifacts: z.array(z.string()).describe('Of what BUILD reported; others may be removed.'),
}

/** What the holder has to do as of `generation`. */
export const assignment = wireObject(assigned, { id: 'Assignment' })

export const claim = wireObject(
  {
    ...assigned,
    claimId: uuid,
    /** fencing token: only grows, per deployment. Decimal digits of a 64-bit integer */
    token: z.string(),
    deployment: wireObject({
      id: uuid,
      workspaceId: uuid,
      name: z.string(),
      k8sNamespace: z.string().nullable().describe('Where it has to be: one of the listener’s.'),
      provisioned: z.boolean().describe('Its PROVISION succeeded once.'),
    }),
    /** from this answer on, unless a heartbeat extends it */
    leaseSeconds: z.int(),
  },
  { id: 'Claim' },
)

export const claimAnswer = wireObject({ claims: z.array(claim) }, { id: 'ClaimAnswer' })

export const heartbeatItemAnswer = wireObject({
  claimId: uuid,
  lost: z.boolean().describe('The lease is gone: stop all steps of this claim at once. What serves goes on serving.'),
  assignment: assignment.nullable().describe('Only when something changed since the generation that was named.'),
})

export const heartbeatAnswer = wireObject(
  { claims: z.array(heartbeatItemAnswer).describe('One for each that was asked, in the order asked.') },
  { id: 'HeartbeatAnswer' },
)

export const completeAnswer = wireObject(
  {
    /** of a build its commit is recorded in any case */
    recorded: z.boolean().describe('false: the step had been closed in the meantime; the outcome was not recorded.'),
    assignment,
  },
  { id: 'CompleteAnswer' },
)

/** Details of a revision and the comparison of two revisions in REST. */
import { z } from 'zod'
import { snake } from '../../../domain/parsing/codec.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { COMPARED_PARTS } from '../../../domain/revisions/compare.ts'
import type { RevisionComparison } from '../../../domain/revisions/compare-revisions.ts'
import { buildPlanMembers } from '../../../domain/values/build-plan.ts'
import { resourceSpec } from '../../../domain/values/resource-spec.ts'
import { StepOutcome } from '../../../domain/values/row-types.ts'
import { secretReference } from '../../../domain/values/shapes.ts'
import { responseSchema, time } from './response-schema.ts'
import { reason, revision } from './revision.ts'

const step = responseSchema(
  { id: 'RevisionStep' },
  {
    kind: z.enum(['PROVISION', 'BUILD', 'DEPLOY']),
    created_at: time.describe('Since when a worker could take the step.'),
    started_at: time.nullable().describe('When a worker first took the step; null if none has.'),
    ended_at: time.nullable().describe('When the step ended; null if it has not.'),
    tries: z.int().describe('How often the step was started. A value above 1 means that a worker lost its lease.'),
    outcome: z.enum(StepOutcome).nullable(),
    reason: reason.describe('Why the step failed, as a machine-readable code.'),
    is_current: z.boolean().describe('Whether the step belongs to the newest attempt.'),
  },
)

const seconds = z.number().nullable()
const durations = responseSchema(
  {},
  {
    waited: seconds.describe('Time without work on the revision.'),
    provision: seconds,
    build: seconds,
    deploy: seconds,
    total: seconds.describe('Time from the request to the end of the work.'),
  },
)

const fingerprint = responseSchema({}, { name: z.string(), fingerprint: z.string() })

const buildPlan = responseSchema({}, buildPlanMembers)

export const revisionDetails = responseSchema(
  { id: 'RevisionDetails' },
  {
    revision_id: uuid,
    is_active: z.boolean().describe('Whether this revision is the active one.'),
    can_redeploy: z
      .boolean()
      .describe('Whether the state of the revision allows a redeploy. The caller’s role is not considered.'),
    why_not_redeployable: z
      .string()
      .nullable()
      .describe('Why it can’t be redeployed, as a clause for people: “it is being built”.'),
    queue_position: z
      .int()
      .nullable()
      .describe(
        'The position in the queue of the same listener, or of the built-in workers; 1 has waited longest. It is null if the revision does not wait for a worker.',
      ),
    steps: z.array(step).describe('The steps of the revision, oldest first. Old steps are deleted.'),
    durations: durations.describe(
      'Durations of the newest attempt, in seconds. A value is null if that part did not happen, is not over, or is unknown.',
    ),
    secret_fingerprints: z
      .array(fingerprint)
      .describe('Equal fingerprints mean equal values. Compare only fingerprints that were read at the same time.'),
    effective_resources: resourceSpec
      .nullable()
      .describe(
        'The resources that the revision runs with, or last ran with, including defaults. A null member is decided by the runtime; in a cluster by the settings DEFAULT_… of the listener. It is null if the resources were not recorded.',
      ),
    secret_references: z
      .array(secretReference)
      .nullable()
      .describe('The secret references that the revision runs with, or last ran with; null if they were not recorded.'),
    build_plan: buildPlan
      .nullable()
      .describe('The plan of the build; null if the revision has no build, or no plan was reported yet.'),
  },
)

const difference = responseSchema(
  { id: 'RevisionDifference' },
  {
    part: z.enum(COMPARED_PARTS),
    field: z.string().describe('The name of the field in this API, such as `repo_ref` or `memory_mb`.'),
    from: z.string().nullable().describe('The first value. A resource value that is no text is JSON.'),
    to: z.string().nullable(),
  },
  ({ field }: { field: string; from: string | null; to: string | null; part: (typeof COMPARED_PARTS)[number] }) => ({
    field: snake(field),
  }),
)

const names = responseSchema(
  { id: 'NameDifferences' },
  {
    added: z.array(z.string()),
    removed: z.array(z.string()),
    changed: z.array(z.string()).describe('The names that are in both revisions with different values.'),
  },
)

export const revisionComparison = responseSchema(
  { id: 'RevisionComparison' },
  {
    from: revision,
    to: revision,
    is_same: z.boolean().describe('Whether no difference is known.'),
    differences: z.array(difference).describe('Differences in source, commit, image, commands and resources.'),
    secrets: names.describe(
      'Differences by name and value. The time when a value was set does not count. Values are never shown.',
    ),
    secret_references: names
      .nullable()
      .describe('Differences by the name of the variable; null if the references of one revision were not recorded.'),
    resources_known: z
      .boolean()
      .describe('Whether the resources of both revisions were recorded. If not, resources are not compared.'),
  },
  ({ references }: RevisionComparison) => ({ secretReferences: references }),
)

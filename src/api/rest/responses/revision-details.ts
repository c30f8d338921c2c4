/** What REST shows of a revision beside its own row, and of two that are compared. */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { snake } from '../../../domain/parsing/naming.ts'
import { COMPARED_PARTS } from '../../../domain/revision-diff/compare.ts'
import type { RevisionComparison } from '../../../domain/revision-diff/compare-revisions.ts'
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
    created_at: time.describe('Since when somebody could take it.'),
    started_at: time.nullable().describe('null: nobody has taken it.'),
    ended_at: time.nullable().describe('null: it has not ended.'),
    tries: z.int().describe('How often it was begun; more than once: whoever worked on it was lost.'),
    outcome: z.enum(StepOutcome).nullable(),
    reason: reason.describe('Why it failed, in a word for machines.'),
    is_current: z.boolean().describe('Of the newest attempt; false: of one before.'),
  },
)

const seconds = z.number().nullable()
const durations = responseSchema(
  {},
  {
    waited: seconds.describe('In which nobody worked on it.'),
    provision: seconds,
    build: seconds,
    deploy: seconds,
    total: seconds.describe('From when it was asked for until its work ended.'),
  },
)

const fingerprint = responseSchema({}, { name: z.string(), fingerprint: z.string() })

const buildPlan = responseSchema({}, buildPlanMembers)

export const revisionDetails = responseSchema(
  { id: 'RevisionDetails' },
  {
    revision_id: uuid,
    is_active: z.boolean().describe('Whether it is what serves.'),
    can_redeploy: z.boolean().describe('By what it is; not, whether the caller may.'),
    why_not_redeployable: z.string().nullable().describe('A clause for people: “it is being built”.'),
    queue_position: z
      .int()
      .nullable()
      .describe(
        'Among all that wait for the same listener, or for a built-in worker: 1 has waited longest. null: it waits for nobody to take its work.',
      ),
    steps: z.array(step).describe('The work on it, oldest first. Of long ago nothing is left of it.'),
    durations: durations.describe(
      'Seconds that the newest attempt took. null: it did not come to that, it is not over, or nobody knows.',
    ),
    secret_fingerprints: z
      .array(fingerprint)
      .describe('They say whether two revisions have the same value. To be compared among answers of one moment.'),
    effective_resources: resourceSpec
      .nullable()
      .describe(
        'With defaults filled in: what it runs with, or ran with last; null in it is for who runs it to decide, in a cluster by the settings DEFAULT_… of the listener. null: nobody noted them.',
      ),
    secret_references: z.array(secretReference).nullable().describe('As effective_resources.'),
    build_plan: buildPlan
      .nullable()
      .describe('What its build does or did. null: it is not built, not yet, or nobody has reported it.'),
  },
)

const difference = responseSchema(
  { id: 'RevisionDifference' },
  {
    part: z.enum(COMPARED_PARTS),
    field: z.string().describe('As this API calls it: `repo_ref`, `memory_mb`.'),
    from: z.string().nullable().describe('Of resources JSON, where it is no text.'),
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
    changed: z.array(z.string()).describe('In both, and not the same.'),
  },
)

export const revisionComparison = responseSchema(
  { id: 'RevisionComparison' },
  {
    from: revision,
    to: revision,
    is_same: z.boolean().describe('Nothing differs, as far as it is known.'),
    differences: z.array(difference).describe('Of source, commit, image, commands, resources.'),
    secrets: names.describe('By name, and by what they are: not by when they were set. Never values.'),
    secret_references: names
      .nullable()
      .describe('By the name of the variable. null: nobody noted those of one of them.'),
    resources_known: z.boolean().describe('false: nobody noted the resources of one of them, so none are compared.'),
  },
  ({ references }: RevisionComparison) => ({ secretReferences: references }),
)

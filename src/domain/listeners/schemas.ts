/** The shapes of listeners (docs/deployments.md#listeners). Verbs parse with them; REST and GraphQL derive their inputs. */
import { z } from 'zod'
import { optional, printable, uuid } from '../parsing/fields.ts'

export const COMPUTE_TYPES = ['k8s'] as const
export type ComputeType = (typeof COMPUTE_TYPES)[number]

/** long enough for the ARN of a cluster */
const computeId = printable(255).describe(
  'An identifier that you choose, for example the name of the cluster. It is unique in the workspace and cannot be changed.',
)
const computeType = z
  .enum(COMPUTE_TYPES)
  .meta({ typeName: 'ComputeType', description: 'The kind of compute infrastructure. It cannot be changed.' })
const version = optional(z.string().min(1).max(128)).describe('The version of the listener program.')

export const computeConfig = z
  .object({
    k8s_namespaces: optional(z.array(z.string()).max(1000)).describe(
      'The namespaces that deployments may use. Without one the listener can have no deployments.',
    ),
  })
  .meta({ id: 'ListenerComputeConfig' })
export type ComputeConfig = z.output<typeof computeConfig>

export const createBody = z
  .object({ compute_type: computeType, compute_id: computeId, compute_config: computeConfig, version })
  .meta({ id: 'ListenerCreate' })

/** `compute_type` and `compute_id` may be sent back unchanged; another value is a violation (docs/api-rules.md#errors). */
export const updateBody = z
  .object({
    compute_type: optional(computeType),
    compute_id: optional(z.string()),
    compute_config: optional(computeConfig),
    version,
  })
  .meta({ id: 'ListenerUpdate' })

export const listenerPath = z.object({ listener_id: uuid })

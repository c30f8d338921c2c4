/**
 * Source and resource types of deployments and revisions, generated from the verbs' schemas
 * (docs/deployments.md#deployments).
 */
import { resourceSpec } from '../../../domain/values/resource-spec.ts'
import { listenerConfig, secretReference, sourceConfig, sourceRevisionConfig } from '../../../domain/values/shapes.ts'
import { inputType, outputType, rawOf, shapeOf } from '../builder/shapes.ts'

const resources = shapeOf('ResourceSpec', resourceSpec)

export const ResourceSpec = outputType(
  resources,
  'The given resources of each replica. CPU is in cores, memory in MB, storage in GiB. A null member has a default.',
)
export const ResourceSpecInput = inputType(resources, undefined, false)

/** Converts the input to the verb's form. */
export const rawResources = (input: object) => rawOf(resources, input as Record<string, unknown>)

outputType(shapeOf('ListenerConfig', listenerConfig), 'The place of the deployment on a listener’s infrastructure.', {})

/** Read from a deployment's row. */
export const SourceConfig = outputType(
  shapeOf('SourceConfig', sourceConfig),
  'The source of the deployment and how it runs.',
  { listener_config: 'k8sNamespace' },
)

/** Read from a revision's row. For a deployment without a revision all members are null. */
export const SourceRevisionConfig = outputType(
  shapeOf('SourceRevisionConfig', sourceRevisionConfig),
  'The source of a revision. For a deployment it is the source of the latest revision.',
  {},
)

export const SecretReference = outputType(
  shapeOf('SecretReference', secretReference),
  'An environment variable from a secret of the cluster.',
)

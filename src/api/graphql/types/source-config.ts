/** What a deployment and its revisions are made from, as the verbs' own schemas say it (docs/deployments.md#deployments). */
import { resourceSpec } from '../../../domain/values/resource-spec.ts'
import type { Deployment } from '../../../domain/values/row-types.ts'
import { listenerConfig, secretReference, sourceConfig, sourceRevisionConfig } from '../../../domain/values/shapes.ts'
import { inputType, outputType, rawOf, readColumn, shapeOf } from '../builder/shapes.ts'

const resources = shapeOf('ResourceSpec', resourceSpec)

export const ResourceSpec = outputType(
  resources,
  'Resources of each replica, as they were given. CPU in cores, memory in MB, storage in GiB. What is null has a default.',
)
export const ResourceSpecInput = inputType(resources, undefined, false)

/** As a verb takes it. */
export const rawResources = (input: object) => rawOf(resources, input as Record<string, unknown>)

outputType(shapeOf('ListenerConfig', listenerConfig), 'Where a listener puts the deployment.', readColumn)

/** Of the row of a deployment. */
export const SourceConfig = outputType(
  shapeOf('SourceConfig', sourceConfig),
  'What the deployment is made from and how it runs.',
  (row: Deployment, key) => {
    if (key === 'listener_config') return row.k8sNamespace === null ? null : row
    return readColumn(row as never, key)
  },
)

/** Of the row of a revision; of a deployment that has none yet, all null. */
export const SourceRevisionConfig = outputType(
  shapeOf('SourceRevisionConfig', sourceRevisionConfig),
  'What a revision is made from. For a deployment: its latest revision.',
  readColumn,
)

export const SecretReference = outputType(
  shapeOf('SecretReference', secretReference),
  'An environment variable from a secret of the cluster.',
)

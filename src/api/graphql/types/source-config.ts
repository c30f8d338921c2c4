/** What a deployment and its revisions are made from, as the verbs' own schemas say it (docs/deployments.md#deployments). */
import { resourceSpec } from '../../../domain/model/resource-spec.ts'
import type { Deployment } from '../../../domain/model/rows.ts'
import {
  listenerConfig,
  secret,
  secretReference,
  sourceConfig,
  sourceRevisionConfig,
} from '../../../domain/model/shapes.ts'
import { column, outputType, shapeOf } from '../builder/shapes.ts'

outputType(
  shapeOf('ResourceSpec', resourceSpec),
  'Resources of each replica, as they were given. CPU in cores, memory in MB, storage in GiB. What is null has a default.',
)

outputType(shapeOf('ListenerConfig', listenerConfig), 'Where a listener puts the deployment.', column)

/** Of the row of a deployment. */
export const SourceConfig = outputType(
  shapeOf('SourceConfig', sourceConfig),
  'What the deployment is made from and how it runs.',
  (row: Deployment, key) => {
    if (key === 'listener_config') return row.k8sNamespace === null ? null : row
    return column(row as never, key)
  },
)

/** Of the row of a revision; of a deployment that has none yet, all null. */
export const SourceRevisionConfig = outputType(
  shapeOf('SourceRevisionConfig', sourceRevisionConfig),
  'What a revision is made from. For a deployment: its latest revision.',
  column,
)

export const Secret = outputType(
  shapeOf('Secret', secret),
  'An environment variable of the deployment. Its value is masked for callers who may not read the values of secrets.',
)

export const SecretReference = outputType(
  shapeOf('SecretReference', secretReference),
  'An environment variable from a secret of the cluster.',
)

/**
 * Parts of deployments and revisions: sources and resources, generated from the verbs' schemas, secrets, and the last change
 * (docs/deployments.md#deployments).
 */

import { camel } from '../../../domain/parsing/codec.ts'
import type { ShownSecret } from '../../../domain/secrets/secret-set.ts'
import type { DeploymentChange as Change } from '../../../domain/values/deployment-change.ts'
import { resourceSpec } from '../../../domain/values/resource-spec.ts'
import { listenerConfig, secretReference, sourceConfig, sourceRevisionConfig } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentChangeKind } from '../builder/enums.ts'
import { inputType, outputType, rawOf, shapeOf } from '../builder/shapes.ts'
import { Actor } from './event.ts'

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

/** The last change that a caller made to a deployment. */
export const DeploymentChange = builder.objectRef<Change>('DeploymentChange').implement({
  description: 'A change that a caller made to a deployment.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime' }),
    what: t.expose('what', { type: DeploymentChangeKind }),
    actor: t.expose('actor', { type: Actor, description: 'Who made the change.' }),
    changed: t.stringList({
      description: 'The fields that an update changed, without their values.',
      resolve: ({ changed }) => changed.map(camel),
    }),
    revisionId: t.id({
      nullable: true,
      description: 'The revision that was redeployed.',
      resolve: ({ revision }) => revision?.id,
    }),
  }),
})

/** Secrets of a deployment (docs/deployments.md#secrets). */
export const Secret = builder.objectRef<ShownSecret>('Secret').implement({
  description: 'An environment variable of the deployment.',
  fields: (t) => ({
    name: t.exposeString('name'),
    value: t.exposeString('value', {
      description:
        'Masked for callers who may not read values, and for all callers over a session. `revealSecret` returns one value.',
    }),
    setAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the value was set. Null: an older server set it and did not record the time.',
      resolve: ({ origin }) => origin?.at,
    }),
    setBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who set the value, with the name from that time. Null if `setAt` is null.',
      resolve: ({ origin }) => origin?.by,
    }),
  }),
})

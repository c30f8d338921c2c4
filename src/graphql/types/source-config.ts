/** What a deployment is made from (spec 2.2), what a revision of it is made from (2.3), and references to secrets (2.4). */
import { resourceSpec } from '../../domain/deployments/resource-spec.ts'
import type { SecretReference as Reference, Secret as SecretValue } from '../../domain/deployments/schemas.ts'
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import { builder } from '../builder.ts'
import { DeploymentType } from '../enums.ts'
import { outputType, shapeOf } from '../shapes.ts'

const ResourceSpec = outputType(
  shapeOf('ResourceSpec', resourceSpec),
  'Resources of each replica, as they were given. CPU in cores, memory in MB, storage in GiB. What is null has a default.',
)

const ListenerConfig = builder.objectRef<Deployment>('ListenerConfig').implement({
  description: 'Where a listener puts the deployment.',
  fields: (t) => ({ k8sNamespace: t.exposeString('k8sNamespace', { nullable: true }) }),
})

export const SourceConfig = builder.objectRef<Deployment>('SourceConfig').implement({
  description: 'What the deployment is made from and how it runs.',
  fields: (t) => ({
    integrationId: t.exposeID('integrationId', { nullable: true }),
    repoUrl: t.exposeString('repoUrl', { nullable: true }),
    deploymentType: t.expose('deploymentType', { type: DeploymentType, nullable: true }),
    buildOnPush: t.exposeBoolean('buildOnPush', { nullable: true }),
    customUrl: t.exposeString('customUrl', { nullable: true, description: 'Where the deployment is reached.' }),
    resourceSpec: t.field({
      type: ResourceSpec,
      nullable: true,
      resolve: (deployment) => deployment.resourceSpec as never,
    }),
    listenerId: t.exposeID('listenerId', { nullable: true }),
    listenerConfig: t.field({
      type: ListenerConfig,
      nullable: true,
      resolve: (deployment) => (deployment.k8sNamespace === null ? null : deployment),
    }),
    installCommand: t.exposeString('installCommand', { nullable: true }),
    buildCommand: t.exposeString('buildCommand', { nullable: true }),
  }),
})

/** Of a revision; of a deployment that has none yet, all null. */
export const SourceRevisionConfig = builder.objectRef<Partial<Revision>>('SourceRevisionConfig').implement({
  description: 'What a revision is made from. For a deployment: its latest revision.',
  fields: (t) => ({
    repoRef: t.string({ nullable: true, resolve: (revision) => revision.repoRef }),
    graphConfigPath: t.string({ nullable: true, resolve: (revision) => revision.graphConfigPath }),
    imageUri: t.string({ nullable: true, resolve: (revision) => revision.imageUri }),
    sourceTarballPath: t.string({ nullable: true, resolve: (revision) => revision.sourceTarballPath }),
    repoCommitSha: t.string({
      nullable: true,
      description: 'The exact commit, once a build has found it, however that ended.',
      resolve: (revision) => revision.repoCommitSha,
    }),
  }),
})

export const Secret = builder.objectRef<SecretValue>('Secret').implement({
  description: 'An environment variable of the deployment.',
  fields: (t) => ({
    name: t.exposeString('name'),
    value: t.exposeString('value', { description: 'Masked for callers who may not read the values of secrets.' }),
  }),
})

export const SecretReference = builder.objectRef<Reference>('SecretReference').implement({
  description: 'An environment variable from a secret of the cluster.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The environment variable.' }),
    secretName: t.exposeString('secret_name'),
    secretKey: t.exposeString('secret_key'),
  }),
})

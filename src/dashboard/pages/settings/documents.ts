/** GraphQL documents of the settings page. Mutations select all that they can change, so the cache stays current. */
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { actorFragment } from '../../components/actor-name.tsx'

const settingsFragment = graphql(
  `
    fragment Settings on Deployment @_unmask {
      id
      tenantId
      name
      source
      version
      status
      imageVersion
      createdAt
      updatedAt
      sourceConfig {
        integrationId
        repoUrl
        deploymentType
        buildOnPush
        customUrl
        installCommand
        buildCommand
        listenerId
        listenerConfig { k8sNamespace }
        resourceSpec {
          minScale maxScale cpu cpuLimit memoryMb memoryLimitMb
          queueMinScale queueMaxScale queueCpu queueCpuLimit queueMemoryMb queueMemoryLimitMb
          orchestratorCpu orchestratorCpuLimit orchestratorMemoryMb orchestratorMemoryLimitMb
          orchestratorMinScale orchestratorMaxScale
          executorCpu executorCpuLimit executorMemoryMb executorMemoryLimitMb
          cacheCpu cacheCpuLimit cacheMemoryMb cacheMemoryLimitMb
          dbCpu dbCpuLimit dbMemoryMb dbMemoryLimitMb dbStorageGi dbMaxConnections
          labels annotations ingressAnnotations autoscaler class serviceAccountName
          imagePullSecrets { name }
          volumes { name configMap secret emptyDir persistentVolumeClaim nfs projected downwardAPI csi }
          volumeMounts { name mountPath subPath mountPropagation subPathExpr readOnly }
          initContainers { ...SettingsContainer }
          sidecars { ...SettingsContainer }
        }
      }
      sourceRevisionConfig { repoRef graphConfigPath imageUri sourceTarballPath repoCommitSha }
      secrets {
        name
        setAt
        setBy { ...ActorName }
      }
      secretReferences { name secretName secretKey }
      tags { id key value }
      listener { id computeId }
      latestRevision { id number status }
      activeRevision { id number }
    }
    fragment SettingsContainer on Container @_unmask {
      name image imagePullPolicy workingDir restartPolicy command args
      env { name value valueFrom }
      envFrom
      resources { limits requests }
      volumeMounts { name mountPath subPath mountPropagation subPathExpr readOnly }
      securityContext
    }
  `,
  [actorFragment],
)
export type Settings = ResultOf<typeof settingsFragment>

export const settingsQuery = graphql(
  `
    query DeploymentSettings($id: ID!) {
      deployment(id: $id) { id ...Settings }
      me { role secretsRead }
      events(
        deploymentId: $id
        types: ["deployment.created", "deployment.updated", "deployment.tagged"]
        order: NEWEST_FIRST
        first: 1
      ) {
        nodes {
          cursor
          type
          changed
          occurredAt
          actor { ...ActorName }
        }
      }
    }
  `,
  [settingsFragment, actorFragment],
)
export type LastEdit = ResultOf<typeof settingsQuery>['events']['nodes'][number]

/** Edits by any user, including the reader of this page. */
export const editsSubscription = graphql(`
  subscription DeploymentEdits($id: ID!, $after: String) {
    events(deploymentId: $id, types: ["deployment.updated", "deployment.tagged", "deployment.deleted"], after: $after) {
      cursor
      type
    }
  }
`)

export const updateMutation = graphql(
  `
    mutation SaveSettings($input: UpdateDeploymentInput!) {
      updateDeployment(input: $input) {
        __typename
        ... on UpdateDeploymentSuccess {
          deployment { id ...Settings }
          revision { id number }
        }
      }
    }
  `,
  [settingsFragment],
)

export const setSecretsMutation = graphql(
  `
    mutation SaveSecrets($input: SetSecretsInput!) {
      setSecrets(input: $input) {
        __typename
        ... on SetSecretsSuccess {
          deployment { id ...Settings }
          revision { id number }
        }
      }
    }
  `,
  [settingsFragment],
)

export const setTagsMutation = graphql(
  `
    mutation SaveTags($input: SetDeploymentTagsInput!) {
      setDeploymentTags(input: $input) {
        __typename
        ... on SetDeploymentTagsSuccess {
          deployment { id ...Settings }
        }
      }
    }
  `,
  [settingsFragment],
)

export const revealMutation = graphql(`
  mutation Reveal($input: RevealSecretInput!) {
    revealSecret(input: $input) {
      __typename
      ... on RevealSecretSuccess { name value }
    }
  }
`)

export const effectiveResourcesQuery = graphql(`
  query Effective($id: ID!, $spec: ResourceSpecInput) {
    deployment(id: $id) {
      id
      effectiveResources(resourceSpec: $spec) {
        minScale maxScale cpu cpuLimit memoryMb memoryLimitMb
        queueMinScale queueMaxScale queueCpu queueCpuLimit queueMemoryMb queueMemoryLimitMb
        cacheCpu cacheCpuLimit cacheMemoryMb cacheMemoryLimitMb
        dbCpu dbCpuLimit dbMemoryMb dbMemoryLimitMb dbStorageGi dbMaxConnections
      }
    }
  }
`)
export type EffectiveResources = NonNullable<
  NonNullable<ResultOf<typeof effectiveResourcesQuery>['deployment']>['effectiveResources']
>

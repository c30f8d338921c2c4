/** GraphQL documents of the settings page. Mutations select all that they can change, so the cache stays current. */
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { actorFragment } from '../../components/actor-name.tsx'
import { allResourcesFragment, allSettingsFragment } from './settings-fragments.ts'

const settingsFragment = graphql(
  `
    fragment Settings on Deployment @_unmask {
      ...AllSettings
      tenantId
      name
      source
      url
      nameUrl
      access
      idleMinutes
      version
      status
      imageVersion
      createdAt
      updatedAt
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
  `,
  [allSettingsFragment, actorFragment],
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

export const effectiveResourcesQuery = graphql(
  `
    query Effective($id: ID!, $spec: ResourceSpecInput) {
      deployment(id: $id) {
        id
        effectiveResources(resourceSpec: $spec) { ...AllResources }
      }
    }
  `,
  [allResourcesFragment],
)
export type EffectiveResources = ResultOf<typeof allResourcesFragment>

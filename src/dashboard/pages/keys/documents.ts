/** The GraphQL documents of this page. */
import { graphql } from '../../api/graphql.ts'
import { actorFragment } from '../../components/actor-name.tsx'

export const sessionFragment = graphql(
  `
    fragment SessionRow on Session {
      id
      current
      role
      organizationWide
      createdAt
      lastUsedAt
      expiresAt
      endedAt
      actor {
        ...ActorName
      }
    }
  `,
  [actorFragment],
)

export const sessionsQuery = graphql(
  `
    query Sessions($after: String) {
      sessions(first: 50, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          id
          ...SessionRow
        }
      }
    }
  `,
  [sessionFragment],
)

export const keyFragment = graphql(`
  fragment KeyRow on ApiKey {
    id
    name
    owner
    prefix
    role
    secretsRead
    organizationWide
    listenerId
    agentId
    createdBy
    createdAt
    lastUsedAt
    expiresAt
    revokedAt
  }
`)

export const keysQuery = graphql(
  `
    query ApiKeys($after: String) {
      apiKeys(first: 50, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          id
          ...KeyRow
        }
      }
    }
  `,
  [keyFragment],
)

/** Listeners that a key with the role `listener` can belong to. */
export const listenersQuery = graphql(`
  query ListenersForKeys {
    listeners(first: 100) {
      nodes {
        id
        computeId
      }
    }
  }
`)

export const createKeyMutation = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) {
      __typename
      ... on CreateApiKeySuccess {
        apiKey {
          id
        }
        key
      }
    }
  }
`)

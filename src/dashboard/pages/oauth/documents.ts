/** GraphQL documents that several parts of the page share. */
import { graphql, type ResultOf } from '../../api/graphql.ts'

export const tokensQuery = graphql(`
  query MyTokens($after: String) {
    oauthTokens(first: 100, after: $after) {
      nodes {
        id
        providerAccountLabel
        scopes
        status
        statusMessage
        isDefault
        expiresAt
        createdAt
        provider {
          id
          providerId
          name
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`)

export type Token = ResultOf<typeof tokensQuery>['oauthTokens']['nodes'][number]

export const providersQuery = graphql(`
  query OAuthProviders($after: String) {
    oauthProviders(first: 100, after: $after) {
      nodes {
        id
        providerId
        name
        providerType
        authUrl
        tokenUrl
        clientId
        usesPkce
        tokenEndpointAuthMethod
        isDynamicClient
        mcpServerUrl
        version
        createdAt
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`)

export type Provider = ResultOf<typeof providersQuery>['oauthProviders']['nodes'][number]

interface Account {
  providerAccountLabel: string | null
  provider: { name: string }
}

/** The label of an account. */
export const accountLabel = ({ providerAccountLabel, provider }: Account): string =>
  providerAccountLabel ?? `An account at ${provider.name}`

/** Chooses an agent: one with a connection, one with a key (for admins), or any name. */
import { Autocomplete, type AutocompleteProps } from '@mantine/core'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { INPUT_FIELDS } from '../../components/input-fields.ts'
import { useHasRole } from '../../components/me.ts'

const agentsQuery = graphql(`
  query KnownAgents($isAdmin: Boolean!) {
    connections(first: 100) {
      nodes {
        id
        agentId
      }
    }
    apiKeys(first: 100) @include(if: $isAdmin) {
      nodes {
        id
        agentId
        revokedAt
      }
    }
  }
`)

export function AgentField(props: Omit<AutocompleteProps, 'data' | 'placeholder'>) {
  const isAdmin = useHasRole('admin')
  const [{ data }] = useQuery({ query: agentsQuery, variables: { isAdmin } })
  const known = [
    ...(data?.connections.nodes ?? []),
    ...(data?.apiKeys?.nodes ?? []).filter(({ revokedAt }) => revokedAt === null),
  ].flatMap(({ agentId }) => agentId ?? [])
  return (
    <Autocomplete
      maxLength={INPUT_FIELDS.CreateConnectionInput!.agentId!.maxLength}
      {...props}
      placeholder="my-agent"
      data={[...new Set(known)].sort()}
    />
  )
}

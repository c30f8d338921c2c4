/** The repositories that an integration can read, searched at the git provider. */
import { Code, Stack, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { Copy } from '../../components/copy.tsx'
import { Loading, Paging, QueryView } from '../../components/page.tsx'

const repositoriesQuery = graphql(`
  query Repositories($id: ID!, $search: String, $after: String) {
    node(id: $id) {
      __typename
      ... on GitIntegration {
        id
        repositories(first: 20, after: $after, search: $search) {
          totalCount
          nodes {
            integrationId
            owner
            name
            url
            defaultBranch
          }
          pageInfo {
            hasNextPage
            endCursor
          }
        }
      }
    }
  }
`)

/** pause in typing before a search */
const DEBOUNCE_MS = 250

type Node = ResultOf<typeof repositoriesQuery>['node']
type Page = NonNullable<Extract<Node, { __typename: 'GitIntegration' }>['repositories']>

export function Repositories({ integrationId }: { integrationId: string }) {
  const [text, setText] = useState('')
  const [search] = useDebouncedValue(text.trim(), DEBOUNCE_MS)
  const [after, setAfter] = useState<string | null>(null)
  const variables = { id: integrationId, search: search || null, after }
  const query = useQuery({ query: repositoriesQuery, variables, requestPolicy: 'cache-and-network' })
  return (
    <Stack gap="xs" pt="xs">
      <TextInput
        size="sm"
        maw={360}
        aria-label="Search repositories"
        placeholder="Part of owner/name"
        leftSection={<IconSearch size={16} />}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setAfter(null)
        }}
      />
      <QueryView query={query} waiting={<Loading rows={3} />}>
        {({ node }) =>
          node?.__typename === 'GitIntegration' && node.repositories ? (
            <RepositoryList page={node.repositories} search={search} after={after} onAfter={setAfter} />
          ) : (
            <Text size="sm">{query[0].error?.graphQLErrors[0]?.message ?? 'The git provider is unavailable.'}</Text>
          )
        }
      </QueryView>
    </Stack>
  )
}

interface FoundProps {
  page: Page
  search: string
  after: string | null
  onAfter(after: string | null): void
}

function RepositoryList({ page: { nodes, totalCount, pageInfo }, search, after, onAfter }: FoundProps) {
  if (nodes.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {search === '' ? 'No repositories.' : `No repository with “${search}” in its name.`}
      </Text>
    )
  return (
    <Stack gap="xs">
      <Table.ScrollContainer minWidth={320}>
        <Table verticalSpacing={6} aria-label="Repositories">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{totalCount === 1 ? 'Repository' : `${totalCount.toLocaleString()} repositories`}</Table.Th>
              <Table.Th>Default branch</Table.Th>
              <Table.Th aria-label="Copy" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {nodes.map(({ owner, name, url, defaultBranch }) => (
              <Table.Tr key={url}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <Text span inherit c="dimmed">
                    {owner}/
                  </Text>
                  <Text span inherit fw={600}>
                    {name}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <Code>{defaultBranch}</Code>
                </Table.Td>
                <Table.Td>
                  <Copy text={url} what="its address" />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Paging after={after} pageInfo={pageInfo} onAfter={onAfter} labels={['First', 'Next']} />
    </Stack>
  )
}

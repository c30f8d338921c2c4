/** The command palette: finds deployments, listeners, workspaces and pages by name. */
import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { createSpotlight, Spotlight, type SpotlightActionGroupData } from '@mantine/spotlight'
import '@mantine/spotlight/styles.css'
import { IconBroadcast, IconBuilding, IconSearch, IconStack2 } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../api/graphql.ts'
import { stateOf } from '../components/labels.ts'
import { useMe } from '../components/me.ts'
import { PAGES } from './pages.ts'

const [store, actions] = createSpotlight()
export const palette = actions

/** pause in typing before a search */
const DEBOUNCE_MS = 120
/** results per kind */
const MAX_PER_KIND = 8

const findQuery = graphql(`
  query Find($text: String!, $first: Int!, $all: Boolean!) {
    deployments(first: $first, filter: { nameContains: $text }, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        id
        name
        serving
        latestRevision {
          id
          status
          reason
        }
      }
    }
    listeners(first: 50) {
      nodes {
        id
        computeId
        status
      }
    }
    workspaces(first: $first, nameContains: $text) @include(if: $all) {
      nodes {
        id
        name
      }
    }
  }
`)

export default function Palette() {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const me = useMe()
  const [typed, setTyped] = useState('')
  const [text] = useDebouncedValue(typed.trim(), DEBOUNCE_MS)
  const [{ data, fetching }] = useQuery({
    query: findQuery,
    variables: { text, first: MAX_PER_KIND, all: me?.organizationWide ?? false },
  })
  // the user has already asked for the palette
  useEffect(() => palette.open(), [])

  const has = (name: string) => name.toLowerCase().includes(typed.trim().toLowerCase())
  const deployments = data?.deployments.nodes.filter(({ name }) => has(name)) ?? []
  const listeners = data?.listeners.nodes.filter(({ computeId }) => has(computeId)).slice(0, MAX_PER_KIND) ?? []
  const workspaces = data?.workspaces?.nodes.filter(({ id, name }) => id !== ws && has(name)) ?? []
  const groups: SpotlightActionGroupData[] = [
    {
      group: 'Deployments',
      actions: deployments.map(({ id, name, serving, latestRevision }) => ({
        id,
        leftSection: <IconStack2 size={18} />,
        label: name,
        description: [serving ? 'Serving' : 'Not serving', latestRevision && stateOf(latestRevision).label]
          .filter(Boolean)
          .join(' · '),
        onClick: () => void navigate({ to: '/w/$ws/deployments/$id', params: { ws, id } }),
      })),
    },
    {
      group: 'Pages',
      actions: PAGES.filter(({ label }) => has(label)).map(({ to, label, icon: Icon }) => ({
        id: to,
        leftSection: <Icon size={18} />,
        label,
        onClick: () => void navigate({ to, params: { ws } }),
      })),
    },
    {
      group: 'Listeners',
      actions: listeners.map(({ id, computeId, status }) => ({
        id,
        leftSection: <IconBroadcast size={18} />,
        label: computeId,
        description: status === 'ONLINE' ? 'Online' : 'Offline',
        onClick: () => void navigate({ to: '/w/$ws/listeners', params: { ws } }),
      })),
    },
    {
      group: 'Workspaces',
      actions: workspaces.map(({ id, name }) => ({
        id,
        leftSection: <IconBuilding size={18} />,
        label: name,
        onClick: () => void navigate({ to: '/w/$ws/deployments', params: { ws: id } }),
      })),
    },
  ]
  return (
    <Spotlight
      store={store}
      query={typed}
      onQueryChange={setTyped}
      actions={groups.filter(({ actions }) => actions.length > 0)}
      // the server has searched
      filter={(_, found) => found}
      shortcut={null}
      overlayProps={{ blur: 0, backgroundOpacity: 0.5 }}
      attributes={{ content: { 'aria-label': 'Find' } }}
      maxHeight={460}
      scrollable
      searchProps={{
        placeholder: 'Search deployments, pages and more',
        leftSection: <IconSearch size={18} />,
      }}
      nothingFound={
        <Text c="dimmed" size="sm">
          {fetching || text !== typed.trim() ? 'Searching…' : 'No results.'}
        </Text>
      }
    />
  )
}

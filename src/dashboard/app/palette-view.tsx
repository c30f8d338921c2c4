/** The command palette: finds deployments, listeners, workspaces and pages by name. */
import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { createSpotlight, Spotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.css'
import { IconBroadcast, IconBuilding, IconSearch, IconStack2 } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../api/graphql.ts'
import { stateOf } from '../components/labels.ts'
import { useMe } from '../components/me.tsx'
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
  const pages = PAGES.filter(({ label }) => has(label))
  const found = deployments.length + listeners.length + workspaces.length + pages.length
  return (
    <Spotlight.Root
      store={store}
      query={typed}
      onQueryChange={setTyped}
      shortcut={null}
      overlayProps={{ blur: 0, backgroundOpacity: 0.5 }}
      attributes={{ content: { 'aria-label': 'Find' } }}
      maxHeight={460}
      scrollable
    >
      <Spotlight.Search placeholder="Search deployments, pages and more" leftSection={<IconSearch size={18} />} />
      <Spotlight.ActionsList>
        <Group label="Deployments" any={deployments.length > 0}>
          {deployments.map(({ id, name, serving, latestRevision }) => (
            <Spotlight.Action
              key={id}
              leftSection={<IconStack2 size={18} />}
              label={name}
              description={[serving ? 'Serving' : 'Not serving', latestRevision && stateOf(latestRevision).label]
                .filter(Boolean)
                .join(' · ')}
              onClick={() => void navigate({ to: '/w/$ws/deployments/$id', params: { ws, id } })}
            />
          ))}
        </Group>
        <Group label="Pages" any={pages.length > 0}>
          {pages.map(({ to, label, icon: Icon }) => (
            <Spotlight.Action
              key={to}
              leftSection={<Icon size={18} />}
              label={label}
              onClick={() => void navigate({ to, params: { ws } })}
            />
          ))}
        </Group>
        <Group label="Listeners" any={listeners.length > 0}>
          {listeners.map(({ id, computeId, status }) => (
            <Spotlight.Action
              key={id}
              leftSection={<IconBroadcast size={18} />}
              label={computeId}
              description={status === 'ONLINE' ? 'Online' : 'Offline'}
              onClick={() => void navigate({ to: '/w/$ws/listeners', params: { ws } })}
            />
          ))}
        </Group>
        <Group label="Workspaces" any={workspaces.length > 0}>
          {workspaces.map(({ id, name }) => (
            <Spotlight.Action
              key={id}
              leftSection={<IconBuilding size={18} />}
              label={name}
              onClick={() => void navigate({ to: '/w/$ws/deployments', params: { ws: id } })}
            />
          ))}
        </Group>
        {found === 0 && (
          <Spotlight.Empty>
            <Text c="dimmed" size="sm">
              {fetching || text !== typed.trim() ? 'Searching…' : 'No results.'}
            </Text>
          </Spotlight.Empty>
        )}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}

function Group({ label, any, children }: { label: string; any: boolean; children: ReactNode }) {
  return any ? <Spotlight.ActionsGroup label={label}>{children}</Spotlight.ActionsGroup> : null
}

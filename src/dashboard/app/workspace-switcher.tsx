/** Shows the workspace. Users with an organization-wide key can switch to another. */
import { Button, Combobox, Group, Stack, Text, UnstyledButton, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconCheck, IconPlus, IconSelector } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../api/graphql.ts'
import type { Me } from '../components/me.ts'
import classes from './navigation.module.css'

const NewWorkspace = lazy(() => import('./new-workspace.tsx'))

const workspacesQuery = graphql(`
  query Workspaces($part: String) {
    workspaces(first: 100, nameContains: $part) {
      nodes {
        id
        name
      }
    }
  }
`)

function Name({ me }: { me: Me | null }) {
  return (
    <Stack gap={0} miw={0} flex={1}>
      <Text size="sm" fw={600} truncate>
        {me?.workspace.name ?? '…'}
      </Text>
      <Text size="xs" c="dimmed" truncate>
        {me ? `${me.organization.name} · ${me.role}` : ''}
      </Text>
    </Stack>
  )
}

export const WorkspaceSwitcher = ({ me }: { me: Me | null }) =>
  me?.organizationWide ? <Switcher me={me} /> : <Name me={me} />

function Switcher({ me }: { me: Me }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  // null: not yet
  const [isMaking, setMaking] = useState<boolean | null>(null)
  const [part, setPart] = useState('')
  const [asked] = useDebouncedValue(part, 200)
  const combobox = useCombobox({
    onDropdownOpen: () => combobox.focusSearchInput(),
    onDropdownClose: () => {
      combobox.resetSelectedOption()
      combobox.focusTarget()
      setPart('')
    },
  })
  const [{ data }] = useQuery({
    query: workspacesQuery,
    variables: { part: asked || null },
    pause: !combobox.dropdownOpened,
    requestPolicy: 'cache-and-network',
  })
  const found = [...(data?.workspaces.nodes ?? [])].sort((a, b) => a.name.localeCompare(b.name))
  const go = (id: string) => navigate({ to: '/w/$ws/deployments', params: { ws: id } })
  return (
    <>
      <Combobox
        store={combobox}
        position="top-start"
        width={260}
        onOptionSubmit={(id) => {
          combobox.closeDropdown()
          void go(id)
        }}
      >
        <Combobox.Target targetType="button">
          <UnstyledButton
            className={classes.workspace}
            onClick={() => combobox.toggleDropdown()}
            title="Switch workspace"
          >
            <Name me={me} />
            <IconSelector size={16} aria-hidden opacity={0.6} />
          </UnstyledButton>
        </Combobox.Target>
        <Combobox.Dropdown>
          <Combobox.Search
            value={part}
            onChange={({ currentTarget }) => {
              setPart(currentTarget.value)
              combobox.resetSelectedOption()
            }}
            placeholder="Find a workspace"
            aria-label="Find a workspace"
          />
          <Combobox.Options mah={280} className={classes.workspaces} aria-label="Workspaces">
            {found.map(({ id, name }) => (
              <Combobox.Option key={id} value={id} active={id === ws}>
                <Group gap="xs" wrap="nowrap" justify="space-between">
                  <Text size="sm" truncate fw={id === ws ? 600 : undefined}>
                    {name}
                  </Text>
                  {id === ws && <IconCheck size={14} aria-label="Current" />}
                </Group>
              </Combobox.Option>
            ))}
            {data && found.length === 0 && <Combobox.Empty>No match</Combobox.Empty>}
          </Combobox.Options>
          {me.role === 'admin' && (
            <Combobox.Footer>
              <Button
                variant="subtle"
                size="xs"
                fullWidth
                leftSection={<IconPlus size={14} />}
                onClick={() => {
                  combobox.closeDropdown()
                  setMaking(true)
                }}
              >
                New workspace
              </Button>
            </Combobox.Footer>
          )}
        </Combobox.Dropdown>
      </Combobox>
      {isMaking !== null && (
        <Suspense>
          <NewWorkspace
            opened={isMaking}
            onClose={() => setMaking(false)}
            onMade={(id) => {
              setMaking(false)
              void go(id)
            }}
          />
        </Suspense>
      )}
    </>
  )
}

/** `/w/$ws/deployments`: the wall. What serves, what is coming, and why what was asked for is not live; all of it as it is now. */
import '@mantine/core/styles/Combobox.css'
import { Button, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ButtonTo } from '../../components/links.tsx'
import { useMay } from '../../components/me.tsx'
import { Empty, Loading, Page, PageError } from '../../components/page.tsx'
import { Filters } from './filters.tsx'
import { List } from './list.tsx'
import { isFiltered, type Search } from './search.ts'
import { useCounts } from './use-counts.ts'
import { useRows } from './use-rows.ts'

const route = getRouteApi('/w/$ws/deployments')

export default function DeploymentsPage() {
  const { ws } = route.useParams()
  const search = route.useSearch()
  const mayMake = useMay('deployer')
  const navigate = route.useNavigate()
  const { rows, old, pages } = useRows(search)
  const counts = useCounts(search)
  const change = (changes: Search) =>
    void navigate({ search: (before) => without({ ...before, ...changes }), replace: true, resetScroll: false })
  // other rows begin at the top
  const asked = JSON.stringify(search)
  // biome-ignore lint/correctness/useExhaustiveDependencies: when something else is asked for
  useEffect(() => {
    if (scrollY > 0) scrollTo({ top: 0 })
  }, [asked])
  return (
    <Page
      title="Deployments"
      actions={
        mayMake && (
          <ButtonTo to="/w/$ws/deployments/new" params={{ ws }} leftSection={<IconPlus size={16} />} size="sm">
            New deployment
          </ButtonTo>
        )
      }
    >
      <Filters
        search={search}
        onChange={change}
        counts={counts}
        onDown={() => document.querySelector<HTMLElement>('tr[data-index] a')?.focus()}
      />
      {rows.waiting && !rows.problem && <Loading rows={10} />}
      {rows.problem && rows.rows.length === 0 && <PageError error={rows.problem} retry={() => void pages.refresh()} />}
      {!rows.waiting && rows.rows.length === 0 && !rows.problem && (
        <Nothing filtered={isFiltered(search)} onClear={() => void navigate({ search: {}, replace: true })} />
      )}
      {rows.rows.length > 0 && (
        <List
          rows={rows}
          pages={pages}
          old={old}
          total={counts?.total ?? null}
          sort={search.sort ?? 'name'}
          onSort={(sort) => change({ sort: sort === 'name' ? undefined : sort })}
        />
      )}
    </Page>
  )
}

/** What is not set is not in the address. */
const without = (search: Search): Search =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined))

function Nothing({ filtered, onClear }: { filtered: boolean; onClear(): void }) {
  if (filtered)
    return (
      <Empty
        title="None is like that"
        action={
          <Button variant="light" size="xs" onClick={onClear}>
            Show all
          </Button>
        }
      >
        No deployment matches all of what is chosen here.
      </Empty>
    )
  return (
    <Empty title="No deployments yet">
      <Text size="sm">
        A deployment is an agent with an address: from a git repository, an upload or an image. The first one can be
        made by the API, by GraphQL, or by <code>npm run cli demo</code>, and shows here at once.
      </Text>
    </Empty>
  )
}

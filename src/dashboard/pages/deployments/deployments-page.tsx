/** `/w/$ws/deployments`: all deployments, live: what serves, what rolls out, and why something is not live. */
import '@mantine/core/styles/Combobox.css'
import { Button, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { IconHistory, IconPlus } from '@tabler/icons-react'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ButtonTo, LinkTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { Empty, Loading, Page, PageError } from '../../components/page.tsx'
import { Filters } from './filters.tsx'
import { List } from './list.tsx'
import { isFiltered, type Search, type Sort, viewOf } from './search.ts'
import { useCounts } from './use-counts.ts'
import { useRows } from './use-rows.ts'

const route = getRouteApi('/w/$ws/deployments')

export default function DeploymentsPage() {
  const { ws } = route.useParams()
  const search = route.useSearch()
  const mayMake = useHasRole('deployer')
  const navigate = route.useNavigate()
  const [view, setView] = useLocalStorage({
    key: 'pilothouse.deployments',
    getInitialValueInEffect: false,
    serialize: JSON.stringify,
    deserialize: viewOf,
    defaultValue: viewOf(undefined),
  })
  const sort = search.sort ?? view.sort
  const { rows, old, pages } = useRows({ ...search, sort })
  const counts = useCounts(search)
  const { history } = useRouter()
  const change = (changes: Search) => {
    // the user may have opened a row while the search was pending
    if (history.location.pathname !== `/w/${ws}/deployments`) return
    // back navigation skips single letters of the search
    void navigate({
      search: (before) => omitUndefined({ ...before, ...changes }),
      replace: 'q' in changes,
      resetScroll: false,
    })
  }
  const onSort = (chosen: Sort) => {
    setView({ ...view, sort: chosen })
    change({ sort: chosen === 'attention' ? undefined : chosen })
  }
  // a new filter scrolls to the top
  const asked = JSON.stringify({ ...search, sort })
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the filter changes
  useEffect(() => {
    if (scrollY > 0) scrollTo({ top: 0 })
  }, [asked])
  return (
    <Page
      title="Deployments"
      description={
        // a phone has no room for it next to the heading
        <LinkTo to="/w/$ws/activity" params={{ ws }} search={{ since: 'yesterday' }} inherit hiddenFrom="sm">
          Changes since yesterday
        </LinkTo>
      }
      actions={
        <>
          <ButtonTo
            to="/w/$ws/activity"
            params={{ ws }}
            search={{ since: 'yesterday' }}
            variant="default"
            leftSection={<IconHistory size={16} />}
            visibleFrom="sm"
          >
            Changes since yesterday
          </ButtonTo>
          {mayMake && (
            <ButtonTo to="/w/$ws/deployments/new" params={{ ws }} leftSection={<IconPlus size={16} />}>
              New deployment
            </ButtonTo>
          )}
        </>
      }
    >
      <Filters
        search={search}
        onChange={change}
        view={{ ...view, sort }}
        onSort={onSort}
        onDense={(dense) => setView({ ...view, dense })}
        counts={counts}
        onDown={() => document.querySelector<HTMLElement>('tr[data-index] a')?.focus()}
      />
      {rows.waiting && !rows.problem && <Loading rows={10} />}
      {rows.problem && rows.rows.length === 0 && <PageError error={rows.problem} retry={() => void pages.refresh()} />}
      {!rows.waiting && rows.rows.length === 0 && !rows.problem && (
        <Nothing filtered={isFiltered(search)} onClear={() => void navigate({ search: {} })} />
      )}
      {rows.rows.length > 0 && (
        <List
          rows={rows}
          pages={pages}
          old={old}
          total={counts?.total ?? null}
          view={{ ...view, sort }}
          onSort={onSort}
        />
      )}
    </Page>
  )
}

/** Keeps undefined values out of the address. */
const omitUndefined = (search: Search): Search =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined))

function Nothing({ filtered, onClear }: { filtered: boolean; onClear(): void }) {
  if (filtered)
    return (
      <Empty
        title="No match"
        action={
          <Button variant="light" size="xs" onClick={onClear}>
            Show all
          </Button>
        }
      >
        No deployment matches the filters.
      </Empty>
    )
  return (
    <Empty title="No deployments yet">
      <Text size="sm">
        A deployment is an agent with an address: from a git repository, an upload or an image. A new deployment from
        this page, the API or <code>pilothouse demo</code> appears here immediately.
      </Text>
    </Empty>
  )
}

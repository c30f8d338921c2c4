/** The frame of every workspace page: the API client, the navigation and live updates. */
import { Alert, AppShell, Burger, Container, Group } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Outlet, useLocation, useParams } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { type CombinedError, Provider, useQuery, useSubscription } from 'urql'
import { ApiContext, createApi } from '../api/client.ts'
import { problemOf } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { LinkTo } from '../components/links.tsx'
import { deploymentsChangedSubscription, notifyWatchers } from '../components/live-deployments.ts'
import { MeContext, meQuery } from '../components/me.ts'
import { NotFound, PageError } from '../components/page.tsx'
import { useRefresh } from '../components/refresh.ts'
import { rememberWorkspace } from '../components/workspace.tsx'
import { Brand, Navigation } from './navigation.tsx'
import { OwnerPrompt } from './owner-prompt.tsx'
import { Palette } from './palette.tsx'

/** how often the server's overload state is read */
const ME_REFRESH_MS = 30_000

export function WorkspaceLayout() {
  const { ws } = useParams({ from: '/w/$ws' })
  const { session } = useSession()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new session must not see cached data of the previous one
  const api = useMemo(() => createApi(ws), [ws, session])
  useEffect(() => () => api.close(), [api])
  if (!session) return null
  return (
    <ApiContext value={api}>
      <Provider value={api.client}>
        <Shell key={ws} workspace={ws} />
      </Provider>
    </ApiContext>
  )
}

function Shell({ workspace }: { workspace: string }) {
  const [opened, { toggle, close }] = useDisclosure()
  const { pathname } = useLocation()
  const [{ data, error }, again] = useQuery({ query: meQuery })
  const there = data !== undefined
  const overload = data?.server.overload
  useRefresh(again, ME_REFRESH_MS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when a page is chosen
  useEffect(close, [pathname])
  useEffect(() => {
    if (there) rememberWorkspace(workspace)
    else if (error?.graphQLErrors.length) rememberWorkspace(null)
  }, [there, error, workspace])
  return (
    <AppShell
      header={{ height: { base: 52, sm: 0 } }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <AppShell.Header hiddenFrom="sm">
        <Group h="100%" px="md" gap="sm">
          <Burger opened={opened} onClick={toggle} size="sm" aria-label="Navigation" />
          <Brand />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm">
        <Navigation me={data?.me ?? null} />
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1}>
        <Container size="var(--page-max)" px={0}>
          {error && !there && isForeign(error) ? (
            <NotFound>
              This workspace does not exist, or you have no access to it.{' '}
              <LinkTo to="/" underline="always">
                Open another workspace
              </LinkTo>
              .
            </NotFound>
          ) : error && !there ? (
            <PageError error={error} retry={() => again({ requestPolicy: 'network-only' })} />
          ) : (
            <MeContext value={data?.me ?? null}>
              {overload && (
                <Alert color="yellow" mb="md" role="status">
                  {overload.message} Until the load drops, builds start one at a time.
                </Alert>
              )}
              {data?.me.apiKey?.owner === null && <OwnerPrompt key={data.me.apiKey.id} apiKeyId={data.me.apiKey.id} />}
              <Outlet />
              <Palette />
            </MeContext>
          )}
        </Container>
        {there && <LiveUpdates />}
      </AppShell.Main>
    </AppShell>
  )
}

/** Whether the caller has no access to the workspace. */
const isForeign = (error: CombinedError) =>
  ['FORBIDDEN', 'NOT_FOUND', 'VALIDATION_FAILED'].includes(problemOf(error).code)

/** Subscribes to the workspace's deployment changes, for all pages (components/live-deployments.ts). */
function LiveUpdates() {
  const [{ data }] = useSubscription({ query: deploymentsChangedSubscription, variables: { after: null } })
  const change = data?.deploymentsChanged
  useEffect(() => {
    if (change) notifyWatchers(change)
  }, [change])
  return null
}

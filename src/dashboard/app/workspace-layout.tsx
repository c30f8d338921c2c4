/** The frame of every workspace page: the API client, the navigation, live updates, and the prompt for an owner. */
import { Alert, AppShell, Burger, Button, Container, Group, Paper, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Outlet, useLocation, useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { type CombinedError, Provider, useQuery, useSubscription } from 'urql'
import { ApiContext, createApi } from '../api/client.ts'
import { fieldError, formError, type Problem, problemOf } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { useCommand } from '../api/use-write.ts'
import { Form } from '../components/dialog-form.tsx'
import { INPUT_FIELDS } from '../components/input-fields.ts'
import { LinkTo } from '../components/links.tsx'
import { deploymentsChangedSubscription, notifyWatchers } from '../components/live-deployments.ts'
import { MeContext, meQuery } from '../components/me.ts'
import { NotFound, PageError } from '../components/page.tsx'
import { useRefresh } from '../components/refresh.ts'
import { rememberWorkspace } from '../components/workspace.tsx'
import { Brand, Navigation } from './navigation.tsx'
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

/** localStorage key prefix; the id of the key follows. */
const STORAGE_PREFIX = 'pilothouse.owner-asked.'

/** Asks for the user's name once, when the API key has no owner. Changes show the owner as their author. */
function OwnerPrompt({ apiKeyId }: { apiKeyId: string }) {
  const [asked, setAsked] = useState(() => localStorage.getItem(STORAGE_PREFIX + apiKeyId) !== null)
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [update, busy] = useCommand('updateApiKey')
  if (asked) return null
  const close = () => {
    localStorage.setItem(STORAGE_PREFIX + apiKeyId, '')
    setAsked(true)
  }
  const save = async () => {
    const outcome = await update({ apiKeyId, owner: name.trim() })
    if (!outcome.ok) return setWrong(outcome.problem)
    close()
  }
  return (
    <Paper withBorder p="md" mb="lg" component="section" aria-label="Your name">
      <Form busy={busy} wrong={wrong} onSubmit={save}>
        <Group align="flex-end">
          <TextInput
            label="Your name"
            description="Shown on changes that you make with this API key."
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={fieldError(wrong, 'owner') ?? formError(wrong, ['owner'])}
            maxLength={INPUT_FIELDS.UpdateApiKeyInput!.owner!.maxLength}
            autoComplete="name"
            flex={1}
          />
          <Button type="submit" loading={busy} disabled={name.trim() === ''}>
            Save
          </Button>
          <Button variant="subtle" onClick={close}>
            Not now
          </Button>
        </Group>
      </Form>
    </Paper>
  )
}

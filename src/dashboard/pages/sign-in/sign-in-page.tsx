/** `/sign-in`: signs in with a one-time link, the organization's login or an API key. */
import { Alert, Button, Center, Code, Divider, Loader, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import '@mantine/core/styles/PasswordInput.css'
import { Navigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { fetchLoginName, signIn, useSession } from '../../api/session.ts'
import icon from '../../components/icon.svg'

/** sessionStorage key: the path to open after the organization's login. */
const RETURN_KEY = 'pilothouse.return'

export default function SignInPage() {
  const { to } = useSearch({ from: '/sign-in' })
  const { session, ended } = useSession()
  const [said] = useState(takeFragment)
  const { code } = said
  const [wrong, setWrong] = useState(said.error)
  const [busy, setBusy] = useState(code !== null)
  useEffect(() => {
    document.title = 'Sign in · Pilothouse'
  }, [])
  useEffect(() => {
    if (code === null) return
    void exchange(code).then((said) => {
      setWrong(said)
      setBusy(false)
    })
  }, [code])
  if (busy)
    return (
      <Center mih="90vh" component="main" id="page">
        <Loader role="status" aria-label="Signing in" />
      </Center>
    )
  // `href`, because the path may have a query and a fragment
  if (session) return <Navigate to="/" href={to ?? takeReturnPath() ?? '/'} replace />
  return (
    <Center mih="90vh" px="md" component="main" id="page">
      <Paper withBorder p="xl" radius="lg" w="100%" maw={420}>
        <Stack>
          <Stack gap={6} align="center" mb="xs">
            <img src={icon} width={44} height={44} alt="" />
            <Title order={1} size="h3">
              Pilothouse
            </Title>
            <Text c="dimmed" size="sm">
              Every deployment, as it is right now.
            </Text>
          </Stack>
          {wrong && (
            <Alert color="red" role="alert">
              {wrong}
            </Alert>
          )}
          {ended === 'expired' && !wrong && (
            <Alert color="yellow" role="status">
              You are signed out: the session ended or its key was revoked.
            </Alert>
          )}
          <OrganizationLogin to={to} />
          <KeyForm />
        </Stack>
      </Paper>
    </Center>
  )
}

/** Exchanges each code once, even if the effect runs twice. */
const exchanges = new Map<string, Promise<string | null>>()
function exchange(code: string): Promise<string | null> {
  const known = exchanges.get(code) ?? signIn({ code })
  exchanges.set(code, known)
  return known
}

function takeReturnPath(): string | null {
  const to = sessionStorage.getItem(RETURN_KEY)
  sessionStorage.removeItem(RETURN_KEY)
  return to
}

function OrganizationLogin({ to }: { to: string | undefined }) {
  const [name, setName] = useState<string | null>(null)
  useEffect(() => {
    fetchLoginName().then(setName, () => undefined)
  }, [])
  if (name === null) return null
  return (
    <>
      <Button
        component="a"
        href="/v2/sessions/oidc"
        onClick={() => to && sessionStorage.setItem(RETURN_KEY, to)}
        fullWidth
      >
        Sign in with {name}
      </Button>
      <Divider label="or" />
    </>
  )
}

function KeyForm() {
  const [key, setKey] = useState('')
  const [wrong, setWrong] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setWrong(await signIn({ api_key: key.trim() }))
    setBusy(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <PasswordInput
          label="API key"
          placeholder="cpk_…"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          error={wrong}
          autoComplete="off"
          required
          withAsterisk={false}
        />
        <Button type="submit" loading={busy} disabled={key.trim() === ''} fullWidth>
          Sign in
        </Button>
        <Text c="dimmed" size="xs">
          On the server’s machine <Code>pilothouse server dashboard</Code> opens it signed in.
        </Text>
      </Stack>
    </form>
  )
}

interface Fragment {
  code: string | null
  /** message for users; null: no error */
  error: string | null
}

/** Error codes of src/domain/sessions/login.ts. */
const LOGIN_ERRORS: Record<string, string> = {
  denied: 'You were not signed in: your organization’s login has refused it, or you have cancelled it.',
  state_mismatch: 'This sign-in started in another browser or was already used. Sign in again.',
  expired: 'The sign-in took longer than ten minutes. Sign in again.',
  no_access:
    'You have no role here. Ask your organization’s login administrator for the role viewer, deployer or admin.',
  unavailable:
    'Your organization’s login does not answer at the moment. Try again in a moment, or sign in with an API key.',
  not_configured: 'Organization login is turned off. Sign in with an API key.',
}
const UNKNOWN_ERROR = 'Your organization’s login returned an invalid answer.'

/** Reads the sign-in code or error from the URL fragment, then removes it. Servers and logs never see a fragment. */
function takeFragment(): Fragment {
  const said = new URLSearchParams(location.hash.slice(1))
  const code = said.get('code')
  const error = said.get('error')
  if (code !== null || error !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return { code, error: error === null ? null : errorMessage(error, said.get('request_id')) }
}

function errorMessage(error: string, requestId: string | null): string {
  const known = Object.hasOwn(LOGIN_ERRORS, error) ? LOGIN_ERRORS[error] : undefined
  if (known) return known
  return requestId === null
    ? UNKNOWN_ERROR
    : `${UNKNOWN_ERROR} The log of the server says why, at ${requestId.slice(0, 128)}.`
}

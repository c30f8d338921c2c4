/** `/connect#CODE`: a person decides about a login of the command line (docs/api-rules.md#logins). */
import { Button, Center, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { Provider } from 'urql'
import { ApiContext, createApi } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { Form } from '../../components/dialog-form.tsx'
import { lastWorkspace, NoWorkspace } from '../../components/workspace.tsx'
import { Decision } from './decision.tsx'

export default function ConnectPage() {
  const { session } = useSession()
  const { hash: code } = useLocation()
  const [chosen, choose] = useState<string | null>(null)
  useEffect(() => {
    document.title = 'Connect the command line · Pilothouse'
  }, [])
  const workspace = chosen ?? (session && lastWorkspace(session))
  if (!workspace) return <NoWorkspace />
  return (
    <Center mih="90vh" px="md" py="xl" component="main" id="page">
      <Paper withBorder p="xl" radius="lg" w="100%" maw={460}>
        <Stack>
          <Title order={1} size="h3">
            Connect the command line
          </Title>
          {code === '' ? (
            <CodeForm />
          ) : (
            <InWorkspace key={workspace} id={workspace}>
              <Decision code={code} onWorkspace={choose} />
            </InWorkspace>
          )}
        </Stack>
      </Paper>
    </Center>
  )
}

function InWorkspace({ id, children }: { id: string; children: ReactNode }) {
  const api = useMemo(() => createApi(id), [id])
  useEffect(() => () => api.close(), [api])
  return (
    <ApiContext value={api}>
      <Provider value={api.client}>{children}</Provider>
    </ApiContext>
  )
}

function CodeForm() {
  const navigate = useNavigate()
  const [code, setCode] = useState('')
  return (
    <Form busy={false} onSubmit={() => navigate({ to: '/connect', hash: code.trim(), replace: true })}>
      <Stack>
        <Text size="sm">Run “pilothouse login” on your machine and enter the code that it shows.</Text>
        <TextInput
          label="Code"
          placeholder="BCDF-GHJK"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoComplete="off"
        />
        <Button type="submit" disabled={code.trim() === ''}>
          Continue
        </Button>
      </Stack>
    </Form>
  )
}

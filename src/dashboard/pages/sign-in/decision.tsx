/** A login with its code: the rights that its key will have, and the buttons that approve or refuse it. */
import { Alert, Button, Code, Group, Loader, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { isNotFound, type Problem, problemOf } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import { type Me, meQuery, RANKED_ROLES } from '../../components/me.ts'
import { Facts, QueryView } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'

const loginQuery = graphql(`
  query Login($code: String!) {
    login(code: $code) {
      id
      name
      address
      status
      createdAt
    }
  }
`)
type Login = NonNullable<ResultOf<typeof loginQuery>['login']>

const workspacesQuery = graphql(`
  query WorkspacesOfLogin {
    workspaces(first: 100) {
      nodes {
        id
        name
      }
    }
  }
`)

const approveMutation = graphql(`
  mutation ApproveLogin($input: ApproveLoginInput!) {
    approveLogin(input: $input) {
      __typename
      ... on ApproveLoginSuccess {
        login {
          id
          status
        }
      }
    }
  }
`)

const refuseMutation = graphql(`
  mutation RefuseLogin($input: RefuseLoginInput!) {
    refuseLogin(input: $input) {
      __typename
      ... on RefuseLoginSuccess {
        login {
          id
          status
        }
      }
    }
  }
`)

type RankedRole = (typeof RANKED_ROLES)[number]['value']

const ENDED: Record<string, string> = {
  approved: 'Approved. Go back to the command line: it is signed in.',
  refused: 'Refused. The command line gets no key.',
  expired: 'This login has expired. Run “pilothouse login” again.',
}

export function Decision({ code, onWorkspace }: { code: string; onWorkspace(id: string): void }) {
  const me = useQuery({ query: meQuery })
  const login = useQuery({ query: loginQuery, variables: { code }, requestPolicy: 'network-only' })
  const error = login[0].error && problemOf(login[0].error)
  if (error && isNotFound(error))
    return (
      <Alert color="yellow" role="alert">
        No login has the code <Code>{code}</Code>. Compare it with the one that your command line shows, or run
        “pilothouse login” again.
      </Alert>
    )
  const waiting = <Loader role="status" aria-label="Loading" />
  return (
    <QueryView query={me} waiting={waiting}>
      {({ me }) => (
        <QueryView query={login} waiting={waiting}>
          {({ login }) => login && <Question code={code} me={me} login={login} onWorkspace={onWorkspace} />}
        </QueryView>
      )}
    </QueryView>
  )
}

interface QuestionProps {
  code: string
  me: Me
  login: Login
  onWorkspace(id: string): void
}

function Question({ code, me, login: { id, name, address, status, createdAt }, onWorkspace }: QuestionProps) {
  const [role, setRole] = useState<RankedRole>('deployer')
  const [problem, setProblem] = useState<Problem | null>(null)
  const [approve, approving] = useWrite(approveMutation)
  const [refuse, refusing] = useWrite(refuseMutation)
  const busy = approving || refusing
  const decide = async (write: () => ReturnType<typeof approve> | ReturnType<typeof refuse>) => {
    setProblem(null)
    const outcome = await write()
    if (!outcome.ok) setProblem(outcome.problem)
  }
  const end = ENDED[status]
  if (end)
    return (
      <Alert color={status === 'approved' ? 'teal' : 'yellow'} role="status">
        {end}
      </Alert>
    )
  const own = RANKED_ROLES.findIndex(({ value }) => value === me.role)
  return (
    <Stack>
      <Text size="sm">
        Does the command line on <b>{name}</b> show this code? Approve only a login that you have just started yourself.
      </Text>
      <Text ff="monospace" fz={28} fw={700} ta="center" data-testid="code">
        {code.toUpperCase()}
      </Text>
      <Facts
        facts={{
          Machine: name,
          Address: address,
          Started: <TimeAgo at={createdAt} />,
          Workspace: me.organizationWide ? null : me.workspace.name,
        }}
      />
      {me.organizationWide && <WorkspaceField current={me.workspace} onWorkspace={onWorkspace} />}
      <NativeSelect
        label="Role"
        description="The key ends after 30 days. You can revoke it at any time, with “pilothouse logout” or as an admin."
        data={RANKED_ROLES.slice(0, own + 1)}
        value={role}
        onChange={(event) => setRole(event.currentTarget.value as RankedRole)}
      />
      {problem && (
        <Alert color="red" role="alert">
          {problem.message}
        </Alert>
      )}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" disabled={busy} onClick={() => void decide(() => refuse({ input: { loginId: id } }))}>
          Refuse
        </Button>
        <Button loading={busy} onClick={() => void decide(() => approve({ input: { loginId: id, role } }))}>
          Approve
        </Button>
      </Group>
    </Stack>
  )
}

function WorkspaceField({ current, onWorkspace }: { current: Me['workspace']; onWorkspace(id: string): void }) {
  const [{ data }] = useQuery({ query: workspacesQuery })
  const found = data?.workspaces.nodes ?? []
  const all = found.some(({ id }) => id === current.id) ? found : [current, ...found]
  return (
    <NativeSelect
      label="Workspace"
      data={all.map(({ id, name }) => ({ value: id, label: name }))}
      value={current.id}
      onChange={(event) => onWorkspace(event.currentTarget.value)}
    />
  )
}

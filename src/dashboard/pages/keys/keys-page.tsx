/** `/w/$ws/keys`: API keys and sessions, the user's own, or all for admins. */
import { Badge, Button, Stack } from '@mantine/core'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { signOut } from '../../api/session.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { ActorName, actorFragment } from '../../components/actor-name.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { Page } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { AccessList, END_BUTTON } from './access-list.tsx'
import { ApiKeys } from './api-keys.tsx'

export default function KeysPage() {
  const isAdmin = useHasRole('admin')
  return (
    <Page
      title="Keys and sessions"
      description={
        isAdmin
          ? 'Everything that can act in this workspace: programs by keys, people by sessions.'
          : 'Your key, those of logins that you approved, and your sessions. Admins create keys.'
      }
    >
      <Stack gap={36}>
        <ApiKeys everybodys={isAdmin} />
        <Sessions everybodys={isAdmin} />
      </Stack>
    </Page>
  )
}

const sessionsQuery = graphql(
  `
    query Sessions($after: String) {
      sessions(first: 50, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          id
          current
          role
          organizationWide
          createdAt
          lastUsedAt
          expiresAt
          endedAt
          actor {
            ...ActorName
          }
        }
      }
    }
  `,
  [actorFragment],
)
type Session = ResultOf<typeof sessionsQuery>['sessions']['nodes'][number]

/** `everybodys`: the sessions of all users. */
const Sessions = ({ everybodys }: { everybodys: boolean }) => (
  <AccessList
    title={everybodys ? 'Sessions' : 'Your sessions'}
    query={sessionsQuery}
    rowsOf={({ sessions: { pageInfo, nodes } }) => ({ pageInfo, rows: nodes.map(rowOf) })}
    events={['session.*', 'api_key.revoked']}
    empty="No sessions."
  />
)

const rowOf = (session: Session) => ({
  ...session,
  name: (
    <>
      <ActorName actor={session.actor} />
      {session.current && (
        <Badge size="sm" variant="light">
          this browser
        </Badge>
      )}
    </>
  ),
  below: (
    <>
      signed in <TimeAgo at={session.createdAt} />
    </>
  ),
  rights: session.organizationWide ? ['every workspace'] : [],
  end: session.current ? (
    <Button {...END_BUTTON} onClick={signOut} aria-label="Sign out of this browser">
      Sign out
    </Button>
  ) : (
    <DialogButton
      {...END_BUTTON}
      aria-label="End this session"
      dialog={confirmation({
        title: 'End this session?',
        verb: 'End it',
        dangerous: true,
        command: 'revokeSession',
        input: { sessionId: session.id },
        text: (
          <>
            The session of <ActorName actor={session.actor} />, begun <TimeAgo at={session.createdAt} />, is signed out
            at once, with all that it has open. With the same key or login one can sign in again.
          </>
        ),
      })}
    >
      End
    </DialogButton>
  ),
})

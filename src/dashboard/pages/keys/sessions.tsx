/** The list of sessions. */
import { Badge, Button } from '@mantine/core'
import { useState } from 'react'
import { useQuery } from 'urql'
import { type FragmentOf, graphql, readFragment } from '../../api/graphql.ts'
import { signOut } from '../../api/session.ts'
import { ActorName, actorFragment } from '../../components/actor-name.tsx'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { TimeAgo } from '../../components/time.tsx'
import { Rows, Section } from './list.tsx'
import { END_BUTTON, EndButton, isEnded, Row } from './row.tsx'

const sessionFragment = graphql(
  `
    fragment SessionRow on Session {
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
  `,
  [actorFragment],
)

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
          ...SessionRow
        }
      }
    }
  `,
  [sessionFragment],
)

/** Events that start or end sessions. */
const EVENT_TYPES = ['session.*', 'api_key.revoked']

/** `everybodys`: the sessions of all users. */
export function Sessions({ everybodys }: { everybodys: boolean }) {
  const [all, setAll] = useState(false)
  return (
    <Section title={everybodys ? 'Sessions' : 'Your sessions'} all={all} onAll={setAll}>
      <SessionsPage all={all} />
    </Section>
  )
}

function SessionsPage({ all, after = null }: { all: boolean; after?: string | null }) {
  const query = useQuery({ query: sessionsQuery, variables: { after }, requestPolicy: 'cache-and-network' })
  useNewEvents({ types: EVENT_TYPES }, () => query[1]({ requestPolicy: 'network-only' }))
  return (
    <QueryView query={query}>
      {({ sessions }) => (
        <Rows
          connection={sessions}
          row={(session) => <SessionRow key={session.id} session={session} all={all} />}
          empty="No sessions."
          more={(cursor) => <SessionsPage all={all} after={cursor} />}
        />
      )}
    </QueryView>
  )
}

interface SessionRowProps {
  session: FragmentOf<typeof sessionFragment>
  all: boolean
}

function SessionRow({ session, all }: SessionRowProps) {
  const shown = readFragment(sessionFragment, session)
  const { id, current, role, organizationWide, createdAt, lastUsedAt, expiresAt, endedAt, actor } = shown
  if (!all && isEnded(shown)) return null
  return (
    <Row
      name={
        <>
          <ActorName actor={actor} />
          {current && (
            <Badge size="sm" variant="light">
              this browser
            </Badge>
          )}
        </>
      }
      below={
        <>
          signed in <TimeAgo at={createdAt} />
        </>
      }
      role={role}
      rights={organizationWide ? ['every workspace'] : []}
      lastUsedAt={lastUsedAt}
      expiresAt={expiresAt}
      endedAt={endedAt}
      end={
        current ? (
          <Button {...END_BUTTON} onClick={signOut} aria-label="Sign out of this browser">
            Sign out
          </Button>
        ) : (
          <EndButton
            label="End this session"
            verb="End"
            title="End this session?"
            command="revokeSession"
            input={{ sessionId: id }}
            text={
              <>
                The session of <ActorName actor={actor} />, begun <TimeAgo at={createdAt} />, is signed out at once,
                with all that it has open. With the same key or login one can sign in again.
              </>
            }
          />
        )
      }
    />
  )
}

/** `/w/$ws/keys`: API keys and sessions, the user's own, or all for admins. */
import { Stack } from '@mantine/core'
import { useHasRole } from '../../components/me.ts'
import { Page } from '../../components/page.tsx'
import { ApiKeys } from './api-keys.tsx'
import { Sessions } from './sessions.tsx'

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

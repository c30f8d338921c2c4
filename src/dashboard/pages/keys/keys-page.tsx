/** `/w/$ws/keys`: sessions (the user's own, or all for admins) and, for admins, API keys. */
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
          : 'Your sessions. Admins create and revoke API keys.'
      }
    >
      <Stack gap={36}>
        {isAdmin && <ApiKeys />}
        <Sessions everybodys={isAdmin} />
      </Stack>
    </Page>
  )
}

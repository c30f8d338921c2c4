/** Shows in the navigation whether the page is live, and announces when it is not. */
import { Group, Text } from '@mantine/core'
import { useConnection } from '../api/connection.ts'
import { Elapsed } from '../components/time.tsx'
import classes from './navigation.module.css'

export function ConnectionStatus() {
  const { state, since } = useConnection()
  return (
    <Group gap={8} px={8} wrap="nowrap" role="status">
      <span className={classes.light} data-state={state} />
      <Text size="xs" c="dimmed">
        {state === 'live' && 'Live'}
        {(state === 'idle' || state === 'connecting') && 'Connecting…'}
        {state === 'lost' && (
          <>
            Connection lost for <Elapsed since={new Date(since).toISOString()} />, trying again
          </>
        )}
      </Text>
    </Group>
  )
}

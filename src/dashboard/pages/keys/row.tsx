/** A row of the keys and sessions lists. */
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { fullTime, TimeAgo } from '../../components/time.tsx'
import classes from './keys.module.css'

interface RowProps {
  name: ReactNode
  /** below the name */
  below: ReactNode
  role: string
  /** labels of additional rights */
  rights: readonly string[]
  lastUsedAt: string | null
  /** null: does not expire */
  expiresAt: string | null
  /** when it was revoked */
  endedAt: string | null
  /** absent: no action is offered */
  end?: { verb: string; label: string; onClick(): void }
}

export function Row({ name, below, role, rights, lastUsedAt, expiresAt, endedAt, end }: RowProps) {
  const isOver = isEnded({ expiresAt, endedAt })
  return (
    <li className={`${classes.row} ${isOver ? classes.over : ''}`}>
      <Stack gap={0} miw={0}>
        <Group gap="xs" className={classes.name}>
          {name}
        </Group>
        <Text size="xs" c="dimmed" component="div">
          {below}
        </Text>
      </Stack>
      <Group gap={4}>
        <Badge variant="light" color={isOver ? 'gray' : role === 'admin' ? 'orange' : 'teal'}>
          {role}
        </Badge>
        {rights.map((right) => (
          <Badge key={right} variant="default" fw={500}>
            {right}
          </Badge>
        ))}
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {lastUsedAt ? (
          <div>
            used <TimeAgo at={lastUsedAt} />
          </div>
        ) : (
          <div>never used</div>
        )}
        <div>{endText({ expiresAt, endedAt })}</div>
      </Text>
      <Group justify="flex-end">
        {end && !isOver && (
          <Button size="compact-xs" variant="subtle" color="red" onClick={end.onClick} aria-label={end.label}>
            {end.verb}
          </Button>
        )}
      </Group>
    </li>
  )
}

interface Lifetime {
  expiresAt: string | null
  endedAt: string | null
}

/** Whether it is expired or revoked. */
export const isEnded = ({ expiresAt, endedAt }: Lifetime): boolean =>
  endedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= Date.now())

function endText({ expiresAt, endedAt }: Lifetime): ReactNode {
  if (endedAt)
    return (
      <>
        revoked <TimeAgo at={endedAt} />
      </>
    )
  if (!expiresAt) return 'does not expire'
  return isEnded({ expiresAt, endedAt }) ? (
    <>
      expired <TimeAgo at={expiresAt} />
    </>
  ) : (
    `until ${fullTime(expiresAt)}`
  )
}

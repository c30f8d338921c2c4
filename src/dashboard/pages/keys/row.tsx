/** A row of the keys and sessions lists. */
import { Badge, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Command } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { confirmation, type Question } from '../../components/dialog-form.tsx'
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
  /** the button that ends it, while it has not ended */
  end: ReactNode
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
      <Group justify="flex-end">{!isOver && end}</Group>
    </li>
  )
}

export const END_BUTTON = { size: 'compact-xs', variant: 'subtle', color: 'red' } as const

interface EndButtonProps<Name extends Command> extends Pick<Question<Name>, 'title' | 'text' | 'command' | 'input'> {
  /** for screen readers */
  label: string
  verb: string
}

export const EndButton = <Name extends Command>({ label, verb, ...question }: EndButtonProps<Name>) => (
  <DialogButton
    {...END_BUTTON}
    aria-label={label}
    dialog={confirmation({ ...question, verb: `${verb} it`, dangerous: true })}
  >
    {verb}
  </DialogButton>
)

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

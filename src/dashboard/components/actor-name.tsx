/** The name of an actor, with an icon for its kind. */
import { IconGitBranch, IconKey, IconRobot, IconServer, IconTerminal2, IconUser } from '@tabler/icons-react'
import { type FragmentOf, readFragment } from '../api/graphql.ts'
import { actorFragment } from './actor.ts'
import classes from './components.module.css'

export { actorFragment }

const KINDS = {
  api_key: { icon: IconKey, word: 'API key' },
  command_line: { icon: IconTerminal2, word: 'Command line' },
  git_provider: { icon: IconGitBranch, word: 'Git provider' },
  listener: { icon: IconRobot, word: 'Listener' },
  person: { icon: IconUser, word: 'Person' },
  system: { icon: IconServer, word: 'System' },
  worker: { icon: IconServer, word: 'Worker' },
} as const

export function ActorName({ actor }: { actor: FragmentOf<typeof actorFragment> }) {
  const { kind, name, subject } = readFragment(actorFragment, actor)
  const { icon: Icon, word } = KINDS[kind]
  return (
    <span className={classes.actor} title={name ? word : (subject ?? word)}>
      <Icon size={14} aria-label={word} />
      <span className={classes.name}>{name ?? word}</span>
    </span>
  )
}

/** The cells of a row, for wide columns and narrow cards. */
import { IconBrandDocker, IconGitBranch, IconPackage, IconUpload } from '@tabler/icons-react'
import { memo } from 'react'
import { ActorName } from '../../components/actor-name.tsx'
import { repositoryName, SOURCE_LABELS, servingState, stateOf } from '../../components/labels.ts'
import { StateBadge, StatusBadge } from '../../components/status-badge.tsx'
import { Elapsed, TimeAgo } from '../../components/time.tsx'
import classes from './deployments.module.css'
import { whyId } from './reason-tooltip.tsx'
import type { Row } from './row-pages.ts'

/** A short version: `9f31c2e` or `1.4.2`. */
function versionOf({ sourceRevisionConfig: { repoCommitSha, imageUri } }: NonNullable<Row['activeRevision']>): string {
  if (repoCommitSha) return repoCommitSha.slice(0, 7)
  const tag = imageUri?.slice(imageUri.lastIndexOf('/') + 1).match(/[:@](?:sha256:)?(.{1,24})/)
  return tag?.[1] ?? ''
}

export const Serving = memo(function Serves({ row }: { row: Row }) {
  const { activeRevision: active, health } = row
  return (
    <div className={classes.pair}>
      <StateBadge {...servingState(row)} {...(health?.message ? { title: health.message } : {})} />
      {active && (
        <span className={classes.small}>
          #{active.number}
          <span className={classes.mono}> {versionOf(active)}</span>
        </span>
      )}
    </div>
  )
})

/** Whether the latest revision is not the one that serves. */
export const hasRollout = ({ latestRevision: latest, activeRevision: active }: Row): boolean =>
  latest !== null && !(latest.id === active?.id && latest.status === 'DEPLOYED')

/** The running rollout or its outcome, such as a rollback. */
export const Rollout = memo(function Coming({ row }: { row: Row }) {
  const { latestRevision: latest } = row
  if (!latest || !hasRollout(row)) return null
  const { tone } = stateOf(latest)
  const isPast = latest.status === 'DEPLOYED'
  return (
    <div className={classes.pair}>
      {isPast ? <StateBadge label="Rolled back" tone="quiet" /> : <StatusBadge {...latest} />}
      <span className={classes.small}>
        {isPast && 'from '}#{latest.number}
        {tone === 'busy' || tone === 'waiting' ? (
          <>
            {' '}
            for <Elapsed since={latest.statusSince} />
          </>
        ) : (
          <span className={classes.mono}> {versionOf(latest)}</span>
        )}
      </span>
    </div>
  )
})

/** The cause comes first. reason-tooltip.tsx shows a truncated text. */
export const Why = memo(function Why({ row: { id, whyNotLive } }: { row: Row }) {
  if (!whyNotLive) return null
  return (
    <span className={classes.why} id={whyId(id)} data-why>
      {whyNotLive}
    </span>
  )
})

const ICONS = {
  gitprovider: IconGitBranch,
  internal_source: IconUpload,
  internal_container: IconPackage,
  external_container: IconBrandDocker,
}

/** `acme/agents`, or the kind of source. */
export const Source = memo(function Source({ row: { source, sourceConfig } }: { row: Row }) {
  const Icon = ICONS[source]
  return (
    <span className={classes.source} title={sourceConfig.repoUrl ?? SOURCE_LABELS[source]}>
      <Icon size={15} stroke={1.7} aria-hidden />
      <span className={classes.cut}>
        {sourceConfig.repoUrl ? repositoryName(sourceConfig.repoUrl) : SOURCE_LABELS[source]}
      </span>
    </span>
  )
})

export const Changed = memo(function Changed({ row: { updatedAt, lastChange } }: { row: Row }) {
  return (
    <div className={classes.pair}>
      <TimeAgo at={updatedAt} />
      {lastChange && (
        <span className={classes.small}>
          <ActorName actor={lastChange.actor} />
        </span>
      )}
    </div>
  )
})

const MAX_TAGS = 2

export const Tags = memo(function Tags({ row: { tags, accessUndecided } }: { row: Row }) {
  if (tags.length === 0 && !accessUndecided) return null
  return (
    <span className={classes.tags} title={tags.map(({ key, value }) => `${key}: ${value}`).join(', ')}>
      {accessUndecided && (
        <span className={classes.tag} data-warns title="Everyone can call it, and nobody has decided that yet.">
          public
        </span>
      )}
      {tags.slice(0, MAX_TAGS).map(({ id, key, value }) => (
        <span key={id} className={classes.tag}>
          {key}: {value}
        </span>
      ))}
      {tags.length > MAX_TAGS && <span>+{tags.length - MAX_TAGS}</span>}
    </span>
  )
})

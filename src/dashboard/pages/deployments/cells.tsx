/** The cells of a row, for wide columns and narrow cards, and the tooltip of a truncated reason. */

import { Tooltip } from '@mantine/core'
import { IconBrandDocker, IconGitBranch, IconPackage, IconUpload } from '@tabler/icons-react'
import { memo, type RefObject, useContext, useEffect, useState } from 'react'
import { ActorName } from '../../components/actor-name.tsx'
import { repositoryName, SOURCE_LABELS, servingState, stateOf } from '../../components/labels.ts'
import { number, percent } from '../../components/metrics/format.ts'
import { StateBadge, StatusBadge } from '../../components/status-badge.tsx'
import { Elapsed, TimeAgo } from '../../components/time.tsx'
import classes from './deployments.module.css'
import type { Row } from './row-pages.ts'
import { type Traffic as RowTraffic, TrafficContext } from './use-traffic.ts'

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

/** The cause comes first. `ReasonTooltip` shows a truncated text. */
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

/** From here on the error rate stands out. */
const BAD_ERROR_RATE = 0.01

/** A row's requests of the last hour: how many a minute, how many failed, and a small line. */
export const Traffic = memo(function Traffic({ row: { id } }: { row: Row }) {
  const traffic = useContext(TrafficContext).get(id)
  if (!traffic) return null
  const { perMinute, errorRate, steps } = traffic
  const isBad = errorRate !== null && errorRate >= BAD_ERROR_RATE
  return (
    <div className={classes.pair} title="Requests of the last hour">
      <span className={classes.rate}>
        {perMinute === 0 ? 'no requests' : `${number(perMinute)} / min`}
        {perMinute > 0 && <Sparkline steps={steps} />}
      </span>
      {errorRate !== null && (
        <span className={classes.small} data-bad={isBad}>
          {isBad && '⚠ '}
          {percent(errorRate)} errors
        </span>
      )}
    </div>
  )
})

const WIDTH_PX = 48
const HEIGHT_PX = 16

/** The text next to it says the same. A step without a value interrupts the line. */
function Sparkline({ steps }: Pick<RowTraffic, 'steps'>) {
  const highest = Math.max(...steps.map((one) => one ?? 0)) || 1
  const place = (value: number, i: number) =>
    `${((i / Math.max(steps.length - 1, 1)) * WIDTH_PX).toFixed(1)} ${(HEIGHT_PX - 1 - (value / highest) * (HEIGHT_PX - 2)).toFixed(1)}`
  const path = steps
    .map((value, i) => (value === null ? '' : `${i > 0 && steps[i - 1] !== null ? 'L' : 'M'}${place(value, i)}`))
    .join('')
  return (
    <svg className={classes.sparkline} width={WIDTH_PX} height={HEIGHT_PX} aria-hidden>
      <path d={path} />
    </svg>
  )
}

/**
 * Shows a truncated reason as a tooltip, on hover or when its row has the focus. One tooltip serves all rows.
 * Screen readers read the full text with the name.
 */
export const whyId = (id: string) => `why-${id}`

/** no tooltip while the pointer passes or the list scrolls */
const HOVER_DELAY_MS = 150

export function ReasonTooltip({ body }: { body: RefObject<HTMLElement | null> }) {
  const [cut, setCut] = useState<HTMLElement | null>(null)
  useEffect(() => {
    const { current: rows } = body
    if (!rows) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const leave = () => {
      clearTimeout(timer)
      setCut(null)
    }
    const look = (event: PointerEvent | FocusEvent) => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        const why = (event.target as Element).closest('tr')?.querySelector<HTMLElement>('[data-why]')
        setCut(why && isTruncated(why) && (event instanceof FocusEvent || isUnderPointer(why, event)) ? why : null)
      }, HOVER_DELAY_MS)
    }
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && leave()
    rows.addEventListener('pointermove', look)
    rows.addEventListener('focusin', look)
    rows.addEventListener('pointerleave', leave)
    rows.addEventListener('focusout', leave)
    document.addEventListener('scroll', leave, { passive: true })
    document.addEventListener('keydown', onKey)
    return () => {
      clearTimeout(timer)
      rows.removeEventListener('pointermove', look)
      rows.removeEventListener('focusin', look)
      rows.removeEventListener('pointerleave', leave)
      rows.removeEventListener('focusout', leave)
      document.removeEventListener('scroll', leave)
      document.removeEventListener('keydown', onKey)
    }
  }, [body])
  if (!cut?.isConnected) return null
  return <Tooltip target={cut} label={cut.textContent} opened multiline maw={420} position="bottom-start" />
}

const isTruncated = ({ scrollHeight, clientHeight }: HTMLElement) => scrollHeight > clientHeight + 1

/** Whether the pointer is over the reason. The row's link covers it, so it gets no events itself. */
function isUnderPointer(why: HTMLElement, { clientX: x, clientY: y }: PointerEvent): boolean {
  const { left, right, top, bottom } = why.getBoundingClientRect()
  return x >= left && x <= right && y >= top && y <= bottom
}

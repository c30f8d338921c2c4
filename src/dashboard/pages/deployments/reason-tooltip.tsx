/**
 * The whole of a sentence that its row has no room for: beside it, when the pointer rests on it or its row has the focus. One for all
 * rows, which then cost nothing more. Who has it read aloud hears all of it with the name.
 */
import { Tooltip } from '@mantine/core'
import { type RefObject, useEffect, useState } from 'react'

export const whyId = (id: string) => `why-${id}`

/** ms: nobody who only passes by, or scrolls, sees it */
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

/** Beneath the pointer. The link of the row lies above it, so no event is its own. */
function isUnderPointer(why: HTMLElement, { clientX: x, clientY: y }: PointerEvent): boolean {
  const { left, right, top, bottom } = why.getBoundingClientRect()
  return x >= left && x <= right && y >= top && y <= bottom
}

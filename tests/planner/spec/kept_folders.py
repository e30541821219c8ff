"""Folders as spec-kit, OpenSpec and Kiro keep them, written by their shapes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SPEC_KIT = {
    ".specify/memory/constitution.md": "# Constitution\n\n## I. Tests first\n\nNo code without.\n",
    "specs/003-word-count/spec.md": """\
# Feature Specification: Word count

**Feature Branch**: `003-word-count`
**Created**: 2026-05-01
**Status**: Draft
**Input**: User description: "count words"

## User Scenarios & Testing *(mandatory)*

<!--
  Stories MUST be ordered by priority.
  - **FR-900**: System MUST not be found in a comment.
-->

### User Story 1 - Count a text (Priority: P1)

A writer counts the words of a text.

**Why this priority**: All else rests on it.

**Independent Test**: Count a text of three words.

**Acceptance Scenarios**:

1. **Given** a text of three words, **When** it is counted, **Then** the result is 3
2. **Given** an empty text, **When** it is counted, **Then** the result is 0

---

### User Story 2 - Longest word (Priority: P2)

A writer asks for the longest word.

**Acceptance Scenarios**:

1. **Given** the text `a bcd ef`, **When** the longest is asked for, **Then** it is `bcd`

### Edge Cases

- What happens when two words are equally long?

## Requirements *(mandatory)*

### Functional Requirements

- **FR-001**: System MUST count words that white space separates.
- **FR-002**: System MUST refuse bytes with:
  - a clear message
  - exit code 2
- **FR-003**: System MUST tell the longest word by [NEEDS CLARIFICATION: characters or
  bytes?] of it.

```text
- **FR-901**: in code
```

### Key Entities *(include if feature involves data)*

- **Word**: characters without white space

## Success Criteria *(mandatory)*

### Measurable Outcomes

- **SC-001**: A text of 1 MB is counted within 1 second.
""",
    "specs/003-word-count/plan.md": "# Implementation Plan\n\nPython 3.11, standard library.\n",
    "specs/003-word-count/tasks.md": """\
---
description: "Tasks"
---

# Tasks: Word count

## Phase 1: Setup

- [ ] T001 Create the project

## Phase 2: User Story 1

- [ ] T002 [P] [US1] Write count in words.py (FR-001, FR-002)
- [ ] T003 [US2] Write longest in words.py (FR-003)
- [x] T004 FR-001 again
""",
}

OPENSPEC = {
    "openspec/project.md": "# Project\n",
    "openspec/specs/cart/spec.md": """\
# cart Specification

## Purpose
What a person buys.

## Requirements

### Requirement: Adding a thing
The cart SHALL list what is added.

#### Scenario: Once
- **WHEN** a thing is added
- **THEN** it is listed once

#### Scenario: Twice
- **WHEN** it is added again
- **THEN** its number is 2

### Requirement: Total
The cart SHALL show the sum:

```json
{"### Requirement: Not one": 1}
```
""",
    "openspec/specs/sign-in/spec.md": """\
# sign-in Specification

## Requirements

### Requirement: Session expiry
The system SHALL end a session after 30 minutes.

#### Scenario: Idle
- **WHEN** 30 minutes pass
- **THEN** the next request gets 401
""",
    "openspec/changes/add-coupons/proposal.md": "## Why\n\nCoupons sell.\n",
    "openspec/changes/add-coupons/tasks.md": """\
## 1. Cart

- [ ] 1.1 Take coupons (cart.coupons)
- [ ] 1.2 Tell the team
""",
    "openspec/changes/add-coupons/specs/cart/spec.md": """\
## ADDED Requirements

### Requirement: Coupons
The cart SHALL take one coupon.

#### Scenario: Given
- **WHEN** a coupon of 2 is given
- **THEN** the sum is 2 less

## MODIFIED Requirements

### Requirement: Sum
The cart SHALL show the sum with tax.

## RENAMED Requirements

- FROM: `### Requirement: Total`
- TO: `### Requirement: Sum`

## REMOVED Requirements

### Requirement: Adding a thing
**Reason**: Things are chosen elsewhere.
**Migration**: None.
""",
}

KIRO = {
    ".kiro/steering/product.md": "# Product\n",
    ".kiro/specs/timer/requirements.md": """\
# Requirements Document

## Introduction

A timer for the kitchen.

## Glossary

- **Timer**: what counts down

## Requirements

### Requirement 1: Start

**User Story:** As a cook, I want to start a timer, so that nothing burns.

#### Acceptance Criteria

1. WHEN a cook starts the timer THEN the Timer SHALL
   count down from the given seconds
2. IF the seconds are negative, THEN THE Timer SHALL refuse them:
   - with a message
   - and leave what runs

### Requirement 2

**User Story:** As a cook, I want to hear the end.

#### Acceptance Criteria

1. WHILE the timer runs THE Timer SHALL show the seconds left
2. WHEN it ends THE Timer SHALL ring

## Non-Functional Requirements

- The timer must be exact to 100 ms.
""",
    ".kiro/specs/timer/design.md": "# Design Document\n\nOne module, `timer.py`.\n",
    ".kiro/specs/timer/tasks.md": """\
# Implementation Plan

- [ ] 1. Start
  - [ ] 1.1 Count down
    - with `time.monotonic`
    - _Requirements: 1.1, 1.2_
  - [ ]* 1.2 Write property tests
    - **Validates: Requirements 1.2**
- [ ] 2. Ring
  - _Requirements: 2.1, 2.2_
- [ ] 3. Checkpoint
""",
}


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return root

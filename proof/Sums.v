(** Sums of any number of numbers: one row of cells "+" per number. *)

From Digitwise Require Export Sum.

(** The wiring: the cell at place p of the row of the number x sees x_p, and hears the cell at place p - 1 of its row and
    the cell at place p of the row before. *)
Definition sums_places (x : list ascii) (heard : list (option N)) : list (place N) :=
  map (fun xh => Place "+"%char [fst xh] (snd xh)) (combine x heard).

(** [heard] is what the row hears from the row before, by places; [last] is what that row wrote. *)
Fixpoint sums_rows (t : table) (heard : list (option N)) (last : list ascii) (xs : list (list ascii))
    : option (list ascii) :=
  match xs with
  | [] => Some last
  | x :: xs =>
      match row (cell t) None (sums_places x heard) with
      | None => None
      | Some r => sums_rows t (map to_row r) (written r) xs
      end
  end.

(** Rows of P places. The first hears nothing from another row. *)
Definition run_sums (t : table) (P : nat) (xs : list (list ascii)) : option (list ascii) :=
  sums_rows t (repeat None P) [] xs.

(** * The plan: whether this is the first row, a carry, and the phases of this number and of the sum so far.
    What a cell tells the next row is its symbol, and whether it is the lowest. The symbols that the first row writes are
    not read. *)

Module Sums.
  Definition state : Type := bool * N * phase * phase.
  Definition meaning : Type := bool * ascii.

  Definition state_eq (a b : state) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  Definition meaning_eq (a b : meaning) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  (** The symbol of the sum so far, and its phase after that. *)
  Definition heard (first low : bool) (fs : phase) (h : option meaning) : option (ascii * phase) :=
    match first, h with
    | true, None => Some (pad, fs)
    | false, Some (low', c) => if Bool.eqb low low' then option_map (pair c) (after fs c) else None
    | _, _ => None
    end.

  Definition plan (s : state) (p : place meaning) : option (doing (S := state) (T := meaning)) :=
    let '(first, carry, fx, fs) := s in
    match Ascii.eqb (stands p) "+", sees p, heard first (is_first fx) fs (hears p) with
    | true, [x], Some (c, fs') =>
        match after fx x with
        | Some fx' =>
            let total := count x + count c + carry in
            let symbol := Sum.symbol x c total in
            Some (Do (first, total / 10, fx', fs') (if first then None else Some symbol) (Some (is_first fx, symbol)))
        | None => None
        end
    | _, _, _ => None
    end.

  Definition shapes (_ : state) : list (ascii * list ascii) := map (fun x => ("+"%char, [x])) symbols.

  Definition key (s : state) : N :=
    let '(first, carry, fx, fs) := s in mix (mix (mix (N.b2n first) carry) (phase_key fx)) (phase_key fs).

  Definition start (first : bool) : state := (first, 0, First, if first then Over else First).
  Definition starts : list state := [start true; start false].

  (** Situations in which the table does not do what the plan does; to be computed for a given table. *)
  Definition wrong : table -> list situation := wrong state_eq meaning_eq key plan shapes starts.

  Lemma shapes_are_all s p d : plan s p = Some d -> In (stands p, sees p) (shapes s).
  Proof.
    destruct s as [[[first carry] fx] fs]. unfold plan.
    destruct (Ascii.eqb_spec (stands p) "+") as [->|]; [|easy].
    destruct (sees p) as [|x []]; try easy.
    destruct (heard _ _ _ _) as [[]|]; [|easy]. destruct (after fx x) as [|] eqn:X; [|easy]. intros _.
    apply (in_map (fun x => ("+"%char, [x]))). eapply after_is_symbol. exact X.
  Qed.

  Lemma start_in first : In (start first) starts.
  Proof. destruct first; [left|right; left]; reflexivity. Qed.

  (** What a place hears if the sum so far, from this place up, is s. *)
  Definition hint (first low : bool) (s : N) : option meaning := if first then None else Some (low, symbol_at low s).

  (** What the places of a row tell that has written n. *)
  Fixpoint told (low : bool) (P : nat) (n : N) : list meaning :=
    match P with
    | O => []
    | S P => (low, symbol_at low n) :: told false P (n / 10)
    end.

  Fixpoint places (first low : bool) (P : nat) (x s : N) : list (place meaning) :=
    match P with
    | O => []
    | S P =>
        Place "+"%char [symbol_at low x] (hint first low s)
        :: places first false P (x / 10) (s / 10)
    end.

  Definition hears_sum (first low : bool) (fs : phase) (s : N) : Prop :=
    if first then s = 0 else holds fs s /\ is_first fs = low.

  (** A step of the plan: the symbol of the sum so far counts its digit, and the symbol of the new sum is right. *)
  Lemma heard_right first fx fs x s carry : holds fx x -> hears_sum first (is_first fx) fs s ->
    exists c fs', heard first (is_first fx) fs (hint first (is_first fx) s) = Some (c, fs')
      /\ count c = s mod 10 /\ hears_sum first false fs' (s / 10)
      /\ Sum.symbol (top fx x) c (x mod 10 + s mod 10 + carry) = top fx (x + s + carry).
  Proof.
    intros Hx Hs. destruct first; cbn in Hs |- *.
    - subst s. exists pad, fs. repeat split. unfold Sum.symbol. rewrite top_is_pad. unfold top. cbn [Ascii.eqb].
      replace ((x + 0 + carry) mod 10) with ((x mod 10 + 0 mod 10 + carry) mod 10) by lia.
      rewrite Bool.andb_true_r. destruct (is_first fx); cbn [negb andb]; [reflexivity|].
      destruct (N.eqb_spec x 0), (N.eqb_spec (x mod 10 + 0 mod 10 + carry) 0), (N.eqb_spec (x + 0 + carry) 0);
        cbn [andb]; try reflexivity; lia.
    - destruct Hs as [Hs E]. destruct (after_top fs s Hs) as (fs' & A & Hs' & F').
      exists (top fs s), fs'. rewrite Bool.eqb_reflx. unfold symbol_at. rewrite <- E.
      change (if negb (is_first fs) && (s =? 0) then pad else digit (s mod 10)) with (top fs s). rewrite A.
      repeat split; auto using count_top, Sum.symbol_right.
  Qed.

  (** The plan adds. *)
  Lemma plan_adds P : forall first low carry fx fs x s,
    holds fx x -> is_first fx = low -> hears_sum first low fs s ->
    exists ds, planned plan (first, carry, fx, fs) (places first low P x s) = Some ds
      /\ (first = false -> map writes ds = map Some (word_from low P (x + s + carry)))
      /\ map tells ds = map Some (told low P (x + s + carry)).
  Proof.
    induction P as [|P IH]; intros first low carry fx fs x s Hx Fx Hs; [now exists []|].
    subst low. destruct (after_top fx x Hx) as (fx' & A & Hx' & Fx').
    destruct (heard_right first fx fs x s carry Hx Hs) as (c & fs' & H & C & Hs' & E).
    destruct (IH first false ((x mod 10 + s mod 10 + carry) / 10) fx' fs' (x / 10) (s / 10)) as (ds & D & W & M); auto.
    replace (x / 10 + s / 10 + (x mod 10 + s mod 10 + carry) / 10) with ((x + s + carry) / 10) in W, M by lia.
    eexists. cbn [places planned]. unfold plan at 1. cbn [stands sees hears].
    rewrite Ascii.eqb_refl, H. change (symbol_at (is_first fx) x) with (top fx x).
    rewrite A, C, (count_top fx x Hx), E. cbn [next]. rewrite D. split; [reflexivity|].
    cbn [map writes tells word_from told]. rewrite M. split; [|reflexivity].
    intros ->. now rewrite W.
  Qed.

  Lemma like_first rows P : forall low x,
    Forall2 (like rows) (sums_places (word_from low P x) (repeat None P)) (places true low P x 0).
  Proof.
    induction P as [|P IH]; intros low x; [constructor|].
    unfold sums_places. cbn [word_from repeat combine map places]. constructor; [now repeat split|]. apply IH.
  Qed.

  Lemma like_next rows P : forall low hs x s, Forall2 (means rows) hs (map Some (told low P s)) ->
    Forall2 (like rows) (sums_places (word_from low P x) hs) (places false low P x s).
  Proof.
    induction P as [|P IH]; intros low hs x s F; [constructor|].
    cbn [told map] in F. inversion F as [|h m hs' l M F']; subst.
    unfold sums_places. cbn [word_from combine map places]. constructor; [repeat split; exact M|now apply IH].
  Qed.

  Section Rows.
    Variables (t : table) (pairs : list (option N * state)) (rows : list (N * meaning)).
    Hypothesis nothing_wrong : wrong_in state_eq meaning_eq key plan shapes t pairs rows = [].
    Hypothesis start_pairs : starts_in starts pairs.

    (** One row adds x to the sum s so far. *)
    Lemma one_row P first x s hs : (first = true -> s = 0) ->
      Forall2 (like rows) (sums_places (word P x) hs) (places first true P x s) ->
      exists r, row (cell t) None (sums_places (word P x) hs) = Some r
        /\ (first = false -> written r = word P (x + s))
        /\ Forall2 (means rows) (map to_row r) (map Some (told true P (x + s))).
    Proof.
      intros S1 L.
      destruct (plan_adds P first true 0 First (if first then Over else First) x s) as (ds & D & W & M); try easy.
      { destruct first; cbn; auto. }
      rewrite N.add_0_r in *.
      destruct (row_follows _ _ _ _ _ shapes_are_all _ _ _ _ nothing_wrong start_pairs _ _ _ _
        (start_in first) L D) as (r & R & F).
      exists r. split; [exact R|]. split; [intros E; eapply does_written|eapply does_told]; eauto.
    Qed.

    Lemma all_rows P xs : forall s hs last,
      Forall2 (means rows) hs (map Some (told true P s)) -> (xs = [] -> last = word P s) ->
      sums_rows t hs last (map (word P) xs) = Some (word P (fold_right N.add s xs)).
    Proof.
      induction xs as [|x xs IH]; intros s hs last F E; [now rewrite E|]. cbn [map sums_rows].
      destruct (one_row P false x s hs) as (r & R & W & M); [easy|now apply like_next|].
      rewrite R, (IH _ _ _ M (fun _ => W eq_refl)). do 2 f_equal. cbn [fold_right].
      clear. revert s. induction xs as [|y xs IH]; intros s; cbn [fold_right]; [reflexivity|]. rewrite IH. lia.
    Qed.
  End Rows.
End Sums.

Definition total (xs : list N) : N := fold_right N.add 0 xs.

(** The theorem. If the check of a table finds nothing wrong, its rows of cells add any two or more numbers on any
    number P of places: what the last row writes is the word of their sum. *)
Theorem sums_right t : Sums.wrong t = [] ->
  forall (xs : list N) (P : nat), (2 <= length xs)%nat ->
  run_sums t P (map (word P) xs) = Some (word P (total xs)).
Proof.
  intros H xs P L. destruct (found _ _ _ _ _ _ _ H) as (pairs & rows & G & S).
  destruct xs as [|x xs]; [cbn in L; lia|]. assert (xs <> []) as NE by (destruct xs; [cbn in L; lia|easy]).
  unfold run_sums. cbn [map sums_rows].
  destruct (Sums.one_row t pairs rows G S P true x 0 (repeat None P)) as (r & R & _ & M);
    [easy|apply Sums.like_first|].
  rewrite R, (Sums.all_rows t pairs rows G S P xs _ _ (written r) M) by easy.
  do 2 f_equal. unfold total. cbn [fold_right]. clear. rewrite N.add_0_r.
  enough (fold_right N.add x xs = x + fold_right N.add 0 xs) by lia.
  induction xs as [|z xs IH]; cbn [fold_right]; lia.
Qed.
